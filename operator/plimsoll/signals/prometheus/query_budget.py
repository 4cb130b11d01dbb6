"""Budget the queries of each namespace per look: their time, number and size.

A namespace that has used up its budget waits for the next look. Others do not.
"""

from collections import defaultdict
from dataclasses import dataclass

from plimsoll.observe.measured.sample import NoResult, QueryResult


@dataclass(frozen=True, slots=True)
class Allowance:
    """What users' own queries of a namespace may use in one look."""

    seconds: float
    queries: int = 1000
    samples: int = 300_000


@dataclass(slots=True)
class _Spent:
    seconds: float = 0.0
    queries: int = 0
    samples: int = 0


class QueryBudget:
    """Counts what the queries of each namespace have used since the look began."""

    def __init__(self, allowed: Allowance) -> None:
        self._allowed = allowed
        self._spent: defaultdict[str, _Spent] = defaultdict(_Spent)

    def begin(self) -> None:
        """Begin another look."""
        self._spent.clear()

    def count(self, namespace: str) -> None:
        """Count a query that is sent now."""
        self._spent[namespace].queries += 1

    def spend(self, namespace: str, seconds: float, result: QueryResult | NoResult) -> None:
        """Count what it used."""
        spent = self._spent[namespace]
        spent.seconds += seconds
        if isinstance(result, QueryResult):
            spent.samples += len(result.samples) + len(result.flawed)

    def seconds_spent(self, namespace: str) -> float:
        """How long its queries took."""
        return self._spent[namespace].seconds

    def excess(self, namespace: str) -> str:
        """Why no more queries of a namespace are sent in this look; "" if some may be.

        It is the same sentence each time, so that it is reported once.
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
