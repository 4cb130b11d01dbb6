"""Remember the solver's jobs of gangs that run undisturbed: they change by the whole minute only.

Most of a large cluster is such gangs, and a turn in which a few jobs change does not look at the
others again.
"""

from datetime import datetime

from plimsoll.observe.snapshot import JobView
from plimsoll.planning.cluster.cluster import Cluster
from plimsoll.planning.problem.node_masks import avoids_nodes
from plimsoll_placement.model import Job

_Basis = tuple[object, ...]


class SteadyJobs:
    """The jobs of one minute, of one policy, and of nodes that are alike to all jobs."""

    def __init__(self) -> None:
        self._basis: _Basis | None = None
        self._known: dict[str, tuple[JobView, bool, Job]] = {}

    def begin(self, now: datetime, cluster: Cluster, *others: object, masks: int) -> None:
        """Forget everything if a minute has passed, or if something else differs that they share.

        `masks` is the version of the node masks; the `others` are frozen objects.
        """
        minute = now.replace(second=0, microsecond=0)
        basis = (minute, masks, cluster.levels, cluster.networks, *others)
        if basis != self._basis:
            self._basis = basis
            self._known.clear()

    def get(self, view: JobView, *, pinned: bool) -> Job | None:
        """The job as it was kept; None if it is not known as it is now."""
        known = self._known.get(view.uid)
        if known is None or known[0] is not view or known[1] is not pinned:
            return None
        return known[2]

    def forget(self, view: JobView) -> None:
        """Remember a job no more."""
        self._known.pop(view.uid, None)

    def keep(self, view: JobView, job: Job, *, pinned: bool) -> None:
        """Remember a job if it changes by the minute at most."""
        if is_steady(view):
            self._known[view.uid] = view, pinned, job


def is_steady(view: JobView) -> bool:
    """Whether a job is a gang that has its place, and avoids no nodes for a while."""
    job = view.training
    return job is not None and job.status.placement is not None and not avoids_nodes(job)
