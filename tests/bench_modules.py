"""Modules of `bench/`, which are programs and the parts of programs, and so have no package."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

BENCH = Path(__file__).parents[1] / "bench"


def bench_module(name: str) -> Any:  # noqa: ANN401 - pyright sees no types where it finds no module
    """A module of `bench/` by its name."""
    sys.path.insert(0, str(BENCH))
    try:
        return import_module(name)
    finally:
        sys.path.remove(str(BENCH))
