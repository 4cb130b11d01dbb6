"""A node's report to the operator: its GPUs' actual limits, and what went wrong.

The report is the same while nothing changes: it is written only when it differs from what the Node
has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plimsoll_agent.orders import watts_of

WANTED = "plimsoll.dev/power-cap-watts"
LIMITS = "plimsoll.dev/power-limit-watts"
PROBLEM = "plimsoll.dev/power-limit-problem"


@dataclass(frozen=True, slots=True)
class Reading:
    """The result for one GPU: its enforced limit in milliwatts, None if it does not respond.

    `is_failure` distinguishes a problem that may pass from a refusal, which stands until the wanted
    limit changes.
    """

    enforced: int | None
    problem: str = ""
    is_failure: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """The two annotations; None stands for an absent one."""

    limits: str | None
    problem: str | None

    def differs_from(self, annotations: Mapping[str, str]) -> bool:
        """Whether the Node says anything else."""
        return any(annotations.get(name) != value for name, value in self.annotations.items())

    @property
    def annotations(self) -> dict[str, str | None]:
        """The values for a merge patch."""
        return {LIMITS: self.limits, PROBLEM: self.problem}


def report(readings: Sequence[Reading], why: str = "") -> Report:
    """The report of a node with GPUs as in `readings`, by index; `why` concerns all of them.

    A GPU that does not respond has no number between its commas.
    """
    limits = ",".join("" if r.enforced is None else str(watts_of(r.enforced)) for r in readings)
    problems = [*([why] if why else []), *_problems(readings)]
    return Report(limits if readings else None, "; ".join(problems) or None)


def _problems(readings: Sequence[Reading]) -> list[str]:
    """What is wrong with which GPUs; those with the same problem share a line."""
    indices: dict[str, list[str]] = {}
    for index, reading in enumerate(readings):
        if reading.problem:
            indices.setdefault(reading.problem, []).append(str(index))
    return [f"GPU {', '.join(which)}: {problem}" for problem, which in indices.items()]
