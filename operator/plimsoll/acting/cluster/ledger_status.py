"""Report in the policy's status whether the console's ledger has all that was used."""

from datetime import datetime, timedelta
from typing import Final

from plimsoll.acting.conditions.conditions import Fact
from plimsoll.kube.objects.times import rfc3339
from plimsoll.observe.measured.ledger import LedgerReading
from plimsoll.vocabulary.reasons import Reason

LEDGER_CURRENT: Final = "LedgerCurrent"
LATE_AFTER: Final = timedelta(minutes=15)
"""The ledger is written once a minute."""


def ledger_facts(reading: LedgerReading | None, now: datetime) -> tuple[Fact, ...]:
    """What is known of the ledger; nothing if none is kept, or before it was looked for."""
    return () if reading is None else (_fact(reading, now),)


def _fact(reading: LedgerReading, now: datetime) -> Fact:
    if reading.problem:
        return Fact.unknown(LEDGER_CURRENT, Reason.LEDGER_UNKNOWN, reading.problem)
    until = reading.accounted_until
    is_late = now - (until or reading.empty_since or now) > LATE_AFTER
    if until is None and not is_late:
        text = "nothing is in the ledger yet; the console writes it once a minute"
        return Fact.unknown(LEDGER_CURRENT, Reason.LEDGER_UNKNOWN, text)
    if not is_late:
        return Fact.true(LEDGER_CURRENT, Reason.LEDGER_WRITTEN, "the ledger has all that was used")
    what = "nothing" if until is None else f"nothing since {rfc3339(until)}"
    text = f"{what} is in the ledger, which catches up when it can; plans go on meanwhile"
    return Fact.false(
        LEDGER_CURRENT, Reason.LEDGER_BEHIND, f"{text}; the console's log says what is wrong"
    )
