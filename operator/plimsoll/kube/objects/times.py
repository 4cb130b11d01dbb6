"""Times in text, as the API server writes them."""

from datetime import UTC, datetime


def rfc3339(time: datetime) -> str:
    """A time in UTC, to the second: metav1.Time."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(time: datetime) -> str:
    """A time in UTC with exactly six digits after the decimal point: metav1.MicroTime."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
