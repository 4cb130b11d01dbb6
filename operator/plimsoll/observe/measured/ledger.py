"""How far the console's ledger goes. How that is read is in `signals`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class LedgerReading:
    """Until when the ledger has all that was used; None: nothing is in it yet.

    `empty_since`: when it was first seen that nothing is. `problem` says, for people, why neither
    is known.
    """

    accounted_until: datetime | None = None
    empty_since: datetime | None = None
    problem: str = ""
