"""Share compute times per step between the processes of one pod.

Only one of them reports, so another one's slow GPU would go unseen. Each of the others writes its
measurement into a file of its own, in the pod's folder for this.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Callable

from plimsoll_worker.stopwatch import WINDOW_SECONDS, StepTime

_APART_SECONDS = 5.0
_NAMES = ("PLIMSOLL_JOB", "PLIMSOLL_ROLE", "PLIMSOLL_REPLICA", "PLIMSOLL_REVISION")


class Neighbours:
    """The processes of this one's pod; this one has the number `rank` among them."""

    def __init__(self, folder: Path, rank: int) -> None:
        self._folder, self._rank = folder, rank
        self._shared_at: float | None = None

    def share(self, usual: Callable[[], StepTime | None], now: float) -> None:
        """Inform the others, every few seconds; if that is impossible, they go without."""
        if self._shared_at is not None and now - self._shared_at < _APART_SECONDS:
            return
        own = usual()
        if own is None:
            return
        self._shared_at = now
        with contextlib.suppress(OSError):
            self._folder.mkdir(exist_ok=True)
            part = self._folder / f"{self._rank}.part"
            part.write_text(json.dumps(asdict(own)), encoding="ascii")
            part.replace(self._folder / f"{self._rank}.json")

    def forget(self) -> None:
        """Take back what this one has told the others, until it has measured anew."""
        self._shared_at = None
        with contextlib.suppress(OSError):
            (self._folder / f"{self._rank}.json").unlink()

    def slowest(self, own: StepTime | None) -> StepTime | None:
        """The step of the one that computes longest: a pod is as slow as that."""
        known = [*self._of_others(), *([own] if own is not None else [])]
        return max(known, key=lambda each: each.compute, default=None)

    def _of_others(self) -> Iterable[StepTime]:
        for file in self._folder.glob("*.json"):
            # Any of them may be being written or removed just now.
            with contextlib.suppress(OSError, ValueError, TypeError):
                is_fresh = time.time() - file.stat().st_mtime <= WINDOW_SECONDS
                if is_fresh and file.stem != str(self._rank):
                    yield StepTime(**json.loads(file.read_text(encoding="ascii")))


def neighbours_in(environment: Mapping[str, str]) -> Neighbours | None:
    """The processes of this pod, as started by torchrun; None if this is the only one."""
    rank, size = environment.get("LOCAL_RANK", ""), environment.get("LOCAL_WORLD_SIZE", "")
    if not (rank.isdecimal() and size.isdecimal()) or int(size) <= 1:
        return None
    name = "-".join(("plimsoll", *(environment.get(each, "") for each in _NAMES)))
    return Neighbours(Path(tempfile.gettempdir()) / name, int(rank))
