"""Fill a folder of the cache from the first of several sources that succeeds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from plimsoll_devcluster.programs import cache
from plimsoll_devcluster.programs.announce import announce
from plimsoll_devcluster.programs.source_failed import SourceFailedError


@dataclass(frozen=True, slots=True)
class Source:
    """A way to fill a folder with programs; `fill` raises SourceFailedError if it cannot."""

    name: str
    fill: Callable[[Path], None]


def failures_to_fill(
    folder: Path, sources: Sequence[Source], *, what: str, is_full: Callable[[], bool]
) -> list[str]:
    """Fill the folder with `what` unless it is full; why no source could, empty if one did."""
    if is_full():
        return []
    with cache.alone(folder, what):
        return [] if is_full() else _tried(folder, sources, what)


def _tried(folder: Path, sources: Sequence[Source], what: str) -> list[str]:
    failures: list[str] = []
    for source in sources:
        try:
            with cache.published(folder) as partial:
                source.fill(partial)
        except SourceFailedError as failure:
            failures.append(f"{source.name}: {failure}")
            announce(f"no {what.removeprefix('the ')} by {failures[-1]}")
        else:
            return []
    return failures
