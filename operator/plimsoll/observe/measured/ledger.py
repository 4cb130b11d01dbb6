"""How far the console's ledger goes. How that is read is in `signals`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class LedgerReading:
    """Until when the ledger has all that was used; None: nothing is in it yet.

    `problem` says, for people, why that is not known.
    """

    accounted_until: datetime | None = None
    problem: str = ""
