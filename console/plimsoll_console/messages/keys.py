"""What names a job, and the state that it is in."""

from typing import Literal

from plimsoll_console.messages.base import Message


class JobKey(Message, frozen=True):
    """What names a job. `kind` is `TrainingJob` or `InferenceJob`.

    `workloadKind` and `workloadName` are the adopted workload that it stands for, "" without one.
    """

    kind: str
    namespace: str
    name: str
    workload_kind: str = ""
    workload_name: str = ""


JobState = Literal["Waiting", "Starting", "Running", "Stopping", "Suspended", "Complete", "Failed"]


class Asked(Message, frozen=True):
    """What a job asks for: pods of a role, at least and at most, with so much of a GPU each."""

    role: str
    least: int
    most: int
    milli_per_pod: int
    types: tuple[str, ...]
