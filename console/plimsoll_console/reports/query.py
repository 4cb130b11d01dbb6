"""What a report is asked for: which time, by what, and what its reader may see."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Self

from plimsoll.kube.objects.times import rfc3339
from plimsoll.vocabulary.dimensions import Dimension
from plimsoll_console.ledger.database.reading import Hours
from plimsoll_console.reports.times import UnusableQuery, moment

_HOUR: Final = timedelta(hours=1)
_LONGEST: Final = timedelta(days=3700)


TIMES: Final = (Dimension.HOUR, Dimension.DAY, Dimension.MONTH)


@dataclass(frozen=True, slots=True)
class Sight:
    """What a reader may see by name: all `namespaces` if None; `nodes`: what no job had."""

    namespaces: AbstractSet[str] | None = None
    nodes: bool = True

    def shows(self, namespace: str) -> bool:
        """Whether what a namespace used is shown by name; "" is what no job had."""
        if not namespace:
            return self.nodes
        return self.namespaces is None or namespace in self.namespaces


@dataclass(frozen=True, slots=True)
class Fields:
    """A query as text; `namespace` is empty where all are asked for."""

    since: str = "30d"
    until: str = "now"
    by: str = "queue"
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """Whole hours from `since` up to `until`, what to sum by, and in which `namespace`.

    An empty namespace stands for all of them, and for what no job had.
    """

    since: datetime
    until: datetime
    by: tuple[Dimension, ...]
    sight: Sight = Sight()
    namespace: str = ""

    @classmethod
    def parsed(
        cls,
        fields: Fields,
        now: datetime,
        sight: Sight = Sight(),
    ) -> Self:
        """The query that text asks for. Raises UnusableQuery."""
        since = moment("since", fields.since, now)
        until = moment("until", fields.until, now)
        found = cls.of(since, until, dimensions("by", fields.by), sight)
        return replace(found, namespace=fields.namespace)

    @classmethod
    def of(cls, since: datetime, until: datetime, by: tuple[Dimension, ...], sight: Sight) -> Self:
        """The query for the hours that a time reaches into. Raises UnusableQuery."""
        if until <= since:
            raise UnusableQuery(
                f"until: {rfc3339(until)} is not after since, {rfc3339(since)}: set a later time"
            )
        if until - since > _LONGEST:
            raise UnusableQuery(f"since: is more than {_LONGEST.days} days ago: set a later time")
        if len([each for each in by if each in TIMES]) > 1:
            raise UnusableQuery("by: names several of hour, day and month: keep one of them")
        begins, ends = _full_hour(since), _full_hour(until)
        return cls(begins, ends if ends == until else ends + _HOUR, by, sight)

    @property
    def hours(self) -> Hours:
        """The hours since 1970."""
        return Hours(_hour(self.since), _hour(self.until))


def dimensions(field: str, text: str) -> tuple[Dimension, ...]:
    """Dimensions as a list with commas. Raises UnusableQuery."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    known = {each.value for each in Dimension}
    wrong = next((name for name in names if name not in known), None)
    if wrong is not None:
        choice = ", ".join(each.value for each in Dimension)
        raise UnusableQuery(f"{field}: there is no {wrong[:40]!r}: use some of {choice}")
    return tuple(dict.fromkeys(Dimension(name) for name in names))


def _full_hour(time: datetime) -> datetime:
    return time.replace(minute=0, second=0, microsecond=0)


def _hour(time: datetime) -> int:
    return int(time.timestamp()) // 3600
