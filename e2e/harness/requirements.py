"""Is there what these tests need of the machine? Without it they are skipped, or fail in CI."""

import os

import pytest

from harness.commands import CommandFailedError, missing, run


def require(what_lacks: str) -> None:
    """Skip, or fail in CI, where something lacks."""
    if not what_lacks:
        return
    if os.environ.get("CI"):
        pytest.fail(what_lacks, pytrace=False)
    pytest.skip(what_lacks)


def what_lacks(*programs: str) -> str:
    """What keeps tests that need these programs, and docker, from running, in a sentence, or ""."""
    if absent := missing(["docker", *programs]):
        return f"not on PATH: {', '.join(absent)}; CONTRIBUTING.md says what the tests need"
    try:
        run("docker", "info", timeout_seconds=60)
    except CommandFailedError as error:
        return f"docker does not work: {error}"
    return ""
