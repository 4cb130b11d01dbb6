"""Folders in the user's cache that keep programs between runs.

A folder exists completely or not at all, and one process at a time fills it.
"""

import fcntl
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from plimsoll_devcluster.programs.announce import announce


def cache_folder(environment: Mapping[str, str], name: str) -> Path:
    """Return the folder of this name, which need not exist."""
    cache = environment.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "plimsoll" / name


@contextmanager
def published(folder: Path) -> Generator[Path]:
    """Yield an empty folder that atomically becomes `folder` if the block succeeds."""
    partial = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f"{folder.name}.partial-"))
    replaced = partial.with_name(f"{partial.name}.old")
    try:
        yield partial
        partial.chmod(0o755)
        if folder.exists():
            folder.rename(replaced)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(replaced, ignore_errors=True)


@contextmanager
def alone(folder: Path, what: str) -> Generator[None]:
    """Admit one process at a time: a build takes a quarter of an hour, and one is enough."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            announce(f"another process is getting {what}; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
