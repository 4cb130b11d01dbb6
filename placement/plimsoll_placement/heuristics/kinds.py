"""Kinds of requests: those of one kind fail alike, as long as nothing becomes free."""

from collections.abc import Hashable
from enum import Enum, auto
from typing import Final

from plimsoll_placement.model import Job, JobName, LeftOut, Role, RoleName
from plimsoll_placement.placing.place import Request
from plimsoll_placement.score.worth import WHOLE_PERCENT

LEFT_OUT: Final = LeftOut(
    job={
        "name": "added where a job's next replica depends on those before",
        "part_of": "says whose part it is, and asks for nothing",
        "roles": "the signatures of the requested role and of companions are added",
        "sequence": "only orders requests",
        "urgency_milli": "only orders requests",
        "preferred_level": "added where the request must keep within it",
        "crossing_percent": "only decides which type is tried first",
        "running": "what is still held is in the ledger",
        "pinned": "nothing is requested for pinned jobs",
        "restart_seconds": "only decides which nodes are tried first",
        "checkpoint_seconds": "only decides which nodes are tried first",
        "payback_seconds": "only counts where the job itself gives way",
    },
    role={
        "name": "no room depends on it",
        "counts": "the request says how many replicas it is for",
        "yields": "the request says which type it is for",
        "mixable": "the request says which type it is for",
        "wanted_milli": "only decides how many replicas are requested",
        "wanted_count": "only decides how many replicas are requested",
        "fineness": "only decides how many replicas are requested",
        "uncapped_draw_milli": "plans go by the draw of the shape",
        "load_nano": "only decides which replicas share a GPU, once all are placed",
        "spot_percent": "counts of companions only, and is added with them",
        "required_level": "counts of companions only, and is added with them",
    },
)
"""What does not decide whether there is room for a request."""


class Claim(Enum):
    """What a job may take: what is free, what lower priorities hold as well, or its queue's due."""

    FREE = auto()
    PRIORITY = auto()
    GUARANTEE = auto()


class Kinds:
    """Numbers what counts of the job and the role of requests, once for each."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._of: dict[tuple[JobName, RoleName], tuple[Job, Role, int]] = {}

    def forget(self) -> None:
        """Forget all, between two problems."""
        self._numbers.clear()
        self._of.clear()

    def __len__(self) -> int:
        return len(self._of)

    def of(self, request: Request, claim: Claim) -> Hashable:
        """The kind of a request.

        Where only part of a job may be on spot nodes, its next replica depends on the earlier ones.
        """
        job = request.job
        depends = not job.gang and 0 < job.spot_percent < WHOLE_PERCENT
        return (
            claim,
            job.preferred_level if request.inside else None,
            request.gpu_type,
            len(request.replicas),
            self.number(job, request.role),
            job.name if depends else "",
        )

    def number(self, job: Job, role: Role) -> int:
        """The number of all that counts of a job and its role, whatever is requested for it."""
        known = self._of.get((job.name, role.name))
        if known is None or known[0] is not job or known[1] is not role:
            companions = tuple(_companion(each) for each in job.companions)
            counts = job.signature(LEFT_OUT), role.signature(LEFT_OUT), companions
            number = self._numbers.setdefault(counts, len(self._numbers))
            known = self._of[job.name, role.name] = job, role, number
        return known[2]


def _companion(role: Role) -> Hashable:
    """All of a companion that decides whether there is room for its gang."""
    limits = role.counts, role.spot_percent, role.required_level
    return role.signature(LEFT_OUT), tuple(role.yields), limits
