"""What is printed is as wide as it would be without a terminal, wherever the tests run."""

import pytest


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody says how wide lines may be; pytest-xdist does, to its processes."""
    monkeypatch.delenv("COLUMNS", raising=False)
