"""The real Prometheus of these tests."""

import os
from pathlib import Path

import pytest

from plimsoll_devcluster.programs.prometheus_program import find_prometheus


@pytest.fixture(scope="session")
def prometheus_program() -> Path:
    """The program, found or fetched."""
    return find_prometheus(os.environ)
