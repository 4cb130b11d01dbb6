"""The views by their paths, each made once for all viewers with the same rights.

A view is made in a thread of its own accord, since that of a large cluster takes a while.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

from plimsoll.observe.snapshot import JobName
from plimsoll_console.access.rights import Rights
from plimsoll_console.cluster.feed import Seen
from plimsoll_console.messages.base import Stamped
from plimsoll_console.serving.encoded import UNSTAMPED, Encoded, encoded
from plimsoll_console.views.cluster import cluster_of
from plimsoll_console.views.job import job_of
from plimsoll_console.views.jobs import jobs_of
from plimsoll_console.views.map import group_of, map_of
from plimsoll_console.views.power import power_of
from plimsoll_console.views.queues import queues_of
from plimsoll_console.views.sight import Sight
from plimsoll_console.views.stamps import Stamp

MOST_KEPT: Final = 1_024
_GROUPS: Final = "map/groups/"
_JOBS: Final = "jobs/"
View = Callable[[Sight, Stamp], Stamped]
VIEWS: Final[Mapping[str, View]] = {
    "cluster": cluster_of,
    "map": map_of,
    "queues": queues_of,
    "jobs": jobs_of,
    "power": power_of,
}
_Key = tuple[str, Rights]


class Shown:
    """What has been made of the latest snapshot; `more` are further views by path."""

    def __init__(self, more: Mapping[str, View]) -> None:
        self._views = {**VIEWS, **more}
        self._salt = secrets.token_bytes(32)
        self._made: OrderedDict[_Key, tuple[int, asyncio.Task[Encoded | None]]] = OrderedDict()

    def show(self, path: str, view: View) -> None:
        """Show a view at a path, in place of any that is there."""
        self._views[path] = view

    def sight(self, seen: Seen, rights: Rights) -> Sight:
        """What the user may see of a snapshot."""
        return Sight(seen.snapshot, rights, self._salt)

    async def of(self, path: str, seen: Seen, rights: Rights) -> Encoded | None:
        """A view; None if there is nothing of that path, or nothing that may be seen.

        Whether a job may be seen that `rights` do not cover, the caller has found out.
        """
        key = path, rights
        known = self._made.get(key)
        if known is None or known[0] != seen.number:
            task = asyncio.create_task(asyncio.to_thread(self._encoded, path, seen, rights))
            known = self._made[key] = seen.number, task
            while len(self._made) > MOST_KEPT:
                self._made.popitem(last=False)
        self._made.move_to_end(key)
        # A viewer that goes away must not cancel what others wait for.
        return await asyncio.shield(known[1])

    def _encoded(self, path: str, seen: Seen, rights: Rights) -> Encoded | None:
        message = self._message(path, self.sight(seen, rights))
        if message is None:
            return None
        return encoded(message, time=seen.snapshot.now, stale_since=seen.stale_since)

    def _message(self, path: str, sight: Sight) -> Stamped | None:
        if path in self._views:
            return self._views[path](sight, UNSTAMPED)
        if path.startswith(_GROUPS):
            return group_of(sight, path.removeprefix(_GROUPS), UNSTAMPED)
        named = job_named(path)
        view = sight.snapshot.job_by_name.get(JobName("/".join(named))) if named else None
        return None if view is None else job_of(sight, view, UNSTAMPED)


def job_named(path: str) -> tuple[str, str, str] | None:
    """The kind, namespace and name of the job that a path is about; None if it is about none."""
    parts = path.removeprefix(_JOBS).split("/")
    if not path.startswith(_JOBS) or len(parts) != 3:  # noqa: PLR2004 - kind/namespace/name
        return None
    return parts[0], parts[1], parts[2]
