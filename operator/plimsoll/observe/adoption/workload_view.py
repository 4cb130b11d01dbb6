"""An adopted workload, as its job's step sees it."""

from dataclasses import dataclass
from datetime import datetime

from plimsoll.kube.watching.workloads import Reference


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a workload ended, in its own controller's words."""

    failed: bool
    message: str


@dataclass(frozen=True, slots=True)
class WorkloadView:
    """The workload that a job stands for.

    `suspended`: it is to run no pods; `at_rest`: its controller has seen that, so that it may be
    resumed. It is to run `parallelism` pods at once, and now `due`, as not so many are left.
    `since`: when it was last resumed, None if that is unknown. `failures`: how many pods have
    failed. `outcome` is None until it has ended.
    """

    reference: Reference
    uid: str
    suspended: bool
    at_rest: bool
    parallelism: int
    due: int
    since: datetime | None = None
    failures: int = 0
    outcome: Outcome | None = None
