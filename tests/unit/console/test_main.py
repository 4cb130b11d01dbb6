from pathlib import Path

import pytest

from plimsoll_console.main import main


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No cluster is configured."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


def test_without_a_cluster_it_says_so_and_ends(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 2
    assert capsys.readouterr().err.startswith("plimsoll-console: ")


def test_a_wrong_setting_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLIMSOLL_CONSOLE_PORT", "many")
    assert main() == 2
    assert "PLIMSOLL_CONSOLE_PORT" in capsys.readouterr().err
