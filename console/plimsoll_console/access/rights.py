"""What a user may see, as a value: every view is made for one."""

from dataclasses import dataclass
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.training_job import TrainingJob

Place = tuple[str, str]
"""A kind of job and a namespace."""
JOB_KINDS: Final = (TrainingJob.definition, InferenceJob.definition)


@dataclass(frozen=True, slots=True)
class Rights:
    """What a user may see.

    `kinds` are the kinds of job that may be seen in every namespace, `places` those that may be
    seen in some. The rest says which kinds of object without a namespace may be listed.
    """

    kinds: frozenset[str] = frozenset()
    places: frozenset[Place] = frozenset()
    nodes: bool = False
    queues: bool = False
    pools: bool = False
    power_domains: bool = False
    policy: bool = False

    def job(self, kind: str, namespace: str) -> bool:
        """Whether jobs of that kind there may be seen."""
        return kind in self.kinds or (kind, namespace) in self.places

    @property
    def all_jobs(self) -> bool:
        """Whether all jobs may be seen."""
        return all(each.kind in self.kinds for each in JOB_KINDS)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces of which not all may see the jobs."""
        return tuple(sorted({namespace for _, namespace in self.places}))

    def withdrawn(self, now: "Rights", there: frozenset[Place]) -> bool:
        """Whether any of it is no longer given `now`; of places, only those that are `there`."""
        lost = self.kinds - now.kinds
        gone = {(k, n) for k, n in self.places & there if not now.job(k, n)}
        flags = ("nodes", "queues", "pools", "power_domains", "policy")
        closed = [flag for flag in flags if getattr(self, flag) and not getattr(now, flag)]
        return bool(lost or gone or closed)


ALL: Final = Rights(
    kinds=frozenset(each.kind for each in JOB_KINDS),
    nodes=True,
    queues=True,
    pools=True,
    power_domains=True,
    policy=True,
)
"""All that there is to see."""
