"""What may the queries of one namespace take? So much time, so many, so large, from look to look.

Whose queries have taken all of it wait for the next look. Others do not.
"""

from collections import defaultdict
from dataclasses import dataclass

from plimsoll.observe.measured.sample import Answer, NoAnswer


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the users' own queries of a namespace may take in one look."""

    seconds: float
    queries: int = 1000
    samples: int = 300_000


@dataclass(slots=True)
class _Spent:
    seconds: float = 0.0
    queries: int = 0
    samples: int = 0


class QueryBudget:
    """Counts what the queries of each namespace took since the look began."""

    def __init__(self, allowed: Allowance) -> None:
        self._allowed = allowed
        self._spent: defaultdict[str, _Spent] = defaultdict(_Spent)

    def begin(self) -> None:
        """Begin another look."""
        self._spent.clear()

    def ask(self, namespace: str) -> None:
        """Count a query that is asked now."""
        self._spent[namespace].queries += 1

    def spend(self, namespace: str, seconds: float, answer: Answer | NoAnswer) -> None:
        """Count what it took."""
        spent = self._spent[namespace]
        spent.seconds += seconds
        if isinstance(answer, Answer):
            spent.samples += len(answer.samples) + len(answer.flawed)

    def seconds_spent(self, namespace: str) -> float:
        """How long its queries took."""
        return self._spent[namespace].seconds

    def excess(self, namespace: str) -> str:
        """Why nothing more is asked for a namespace in this look; "" if something may be.

        It is the same sentence each time, so that it is told once.
        """
        spent, allowed = self._spent[namespace], self._allowed
        is_left = (
            spent.seconds < allowed.seconds
            and spent.queries < allowed.queries
            and spent.samples < allowed.samples
        )
        if is_left:
            return ""
        return (
            f"it waits, for the queries of namespace {namespace} have taken all that they may in"
            f" one look: {allowed.seconds:g} s, {allowed.queries} queries or"
            f" {allowed.samples} samples; have them ask for less"
        )
