"""When a message was true, and what version of it this is."""

from datetime import datetime
from typing import NamedTuple


class Stamp(NamedTuple):
    """The fields that all messages about the cluster begin with."""

    time: datetime
    version: str
    stale_since: datetime | None
