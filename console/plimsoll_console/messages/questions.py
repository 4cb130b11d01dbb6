"""Questions about a job, and their answers."""

from plimsoll.cli.output.results import Simulation, Why
from plimsoll_console.messages.base import Message, Stamped


class ExplainRequest(Message, frozen=True, forbid_unknown_fields=True):
    """Ask why a job waits and what would let it run."""

    kind: str
    namespace: str
    name: str


class Explanation(Stamped, frozen=True):
    """The answer; `hidden` counts the jobs that it leaves out because the user may not see them."""

    why: Why
    hidden: int


class RoleEdit(Message, frozen=True, forbid_unknown_fields=True):
    """Another size of a role: of `worker` for the workers of a TrainingJob."""

    name: str
    min: int | None = None
    max: int | None = None


class WhatIfRequest(Message, frozen=True, forbid_unknown_fields=True):
    """Ask what would change if a job were different; what is left out stays as it is.

    `types`: the GPU types that it may run on. `roles`: other sizes.
    """

    kind: str
    namespace: str
    name: str
    roles: tuple[RoleEdit, ...] = ()
    types: tuple[str, ...] | None = None
    priority_class_name: str | None = None
    queue: str | None = None
    spot: bool | None = None
    suspend: bool | None = None


class WhatIf(Stamped, frozen=True):
    """The answer; `hidden` counts the affected jobs that the user may not see.

    `hiddenGpuHoursLost` is the work that these would lose.
    """

    simulation: Simulation
    hidden: int
    hidden_gpu_hours_lost: float
