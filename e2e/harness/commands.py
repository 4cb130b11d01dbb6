"""Programs of others, run to their end: what they print, or why they failed."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

TAIL_CHARACTERS = 4000


class CommandFailedError(Exception):
    """A program ended with an error; the message has the last of what it said."""


def run(
    *command: str | Path,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
    timeout_seconds: float = 600,
) -> str:
    """What a program prints; its environment is ours and `environment`.

    Raises CommandFailedError where it fails, and subprocess.TimeoutExpired where it does not end.
    """
    done = subprocess.run(
        command,
        input=stdin,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=timeout_seconds,
        check=False,
    )
    if done.returncode:
        said = f"{done.stdout}\n{done.stderr}"[-TAIL_CHARACTERS:].strip()
        line = " ".join(map(str, command))
        raise CommandFailedError(f"{line} failed with exit code {done.returncode}:\n{said}")
    return done.stdout


def missing(programs: Iterable[str]) -> list[str]:
    """Those of the programs that are not on PATH."""
    return [program for program in programs if shutil.which(program) is None]
