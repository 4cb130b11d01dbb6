"""Times as people and programs write them in queries, always in UTC."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

_UNITS: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION: Final = re.compile(r"([1-9][0-9]{0,5})([mhdw])")
_UNIX: Final = re.compile(r"[0-9]{1,10}")
_DAYS_PER_WEEK: Final = 7
_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 2200


class UnusableQuery(ValueError):  # noqa: N818 - named as the operator's other errors are
    """A query that cannot be answered; the message names the field and the remedy."""


def duration(text: str) -> timedelta | None:
    """A length of time such as `30d`; None if the text is none."""
    found = _DURATION.fullmatch(text)
    return timedelta(seconds=int(found[1]) * _UNITS[found[2]]) if found else None


def moment(field: str, text: str, now: datetime) -> datetime:
    """A time: so long ago (`30d`), a date, RFC 3339, or `now`. Raises UnusableQuery."""
    if text == "now":
        return now
    try:
        found = _moment(text, now)
    except (ValueError, OverflowError) as error:
        raise UnusableQuery(
            f"{field}: {text[:40]!r} is no time: write 30d, 2026-11-01 or 2026-11-01T08:00:00Z"
        ) from error
    if not _FIRST_YEAR <= found.year <= _LAST_YEAR:
        raise UnusableQuery(f"{field}: is not in {_FIRST_YEAR} to {_LAST_YEAR}: correct the year")
    return found


def window(text: str, now: datetime) -> tuple[datetime, datetime]:
    """OpenCost's `window`: a word, a length of time, or two times. Raises UnusableQuery."""
    today = midnight(now.date())
    week = today - timedelta(days=(today.weekday() + 1) % _DAYS_PER_WEEK)
    month = today.replace(day=1)
    words = {
        "today": (today, now),
        "yesterday": (today - timedelta(days=1), today),
        "week": (week, now),
        "lastweek": (week - timedelta(days=_DAYS_PER_WEEK), week),
        "month": (month, now),
        "lastmonth": ((month - timedelta(days=1)).replace(day=1), month),
    }
    if text in words:
        return words[text]
    start, comma, end = text.partition(",")
    if comma:
        return _edge(start, now), _edge(end, now)
    return moment("window", start, now), now


def midnight(day: date) -> datetime:
    """The beginning of a day."""
    return datetime.combine(day, time(), UTC)


def _moment(text: str, now: datetime) -> datetime:
    ago = duration(text)
    if ago is not None:
        return now - ago
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)


def _edge(text: str, now: datetime) -> datetime:
    if _UNIX.fullmatch(text):
        return datetime.fromtimestamp(int(text), UTC)
    return moment("window", text, now)
