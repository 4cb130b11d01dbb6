"""What does a node's agent tell the operator: the limits that its GPUs have, and what went wrong.

A report says the same as long as nothing changes: it is written only when it differs from what the
Node says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plimsoll_agent.orders import watts_of

WANTED = "plimsoll.dev/power-cap-watts"
LIMITS = "plimsoll.dev/power-limit-watts"
PROBLEM = "plimsoll.dev/power-limit-problem"


@dataclass(frozen=True, slots=True)
class Reading:
    """One GPU after it was dealt with: its enforced limit in milliwatts, None if it does not say.

    `is_failure` tells a problem that may pass from a refusal, which stands until the wish changes.
    """

    enforced: int | None
    problem: str = ""
    is_failure: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """The two annotations; None is one that is not there."""

    limits: str | None
    problem: str | None

    def differs_from(self, annotations: Mapping[str, str]) -> bool:
        """Whether the Node says anything else."""
        return any(annotations.get(name) != value for name, value in self.annotations.items())

    @property
    def annotations(self) -> dict[str, str | None]:
        """What a merge patch sets them to."""
        return {LIMITS: self.limits, PROBLEM: self.problem}


def report(readings: Sequence[Reading], why: str = "") -> Report:
    """The report of a node whose GPUs are as in `readings`, by index; `why` is of all of them.

    A GPU that does not answer has no number between its commas.
    """
    limits = ",".join("" if r.enforced is None else str(watts_of(r.enforced)) for r in readings)
    problems = [*([why] if why else []), *_problems(readings)]
    return Report(limits if readings else None, "; ".join(problems) or None)


def _problems(readings: Sequence[Reading]) -> list[str]:
    """What is wrong with which GPUs; those with the same trouble share a line."""
    indices: dict[str, list[str]] = {}
    for index, reading in enumerate(readings):
        if reading.problem:
            indices.setdefault(reading.problem, []).append(str(index))
    return [f"GPU {', '.join(which)}: {problem}" for problem, which in indices.items()]
