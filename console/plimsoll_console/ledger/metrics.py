"""The ledger's metrics, on the console's `/metrics`."""

import math

from prometheus_client import Counter, Gauge

ACCOUNTED_UNTIL = Gauge(
    "plimsoll_ledger_accounted_until_timestamp_seconds",
    "Until when all that was used is in the ledger; 0 until it is first read, NaN without one",
)
ACCOUNTED_UNTIL.set(math.nan)
WRITES = Counter(
    "plimsoll_ledger_writes",
    "Writes to the ledger's database, by result (Written, Failed, or Overtaken by another console)",
    ["result"],
)
ROWS_WAITING = Gauge(
    "plimsoll_ledger_rows_waiting", "Rows of the ledger in memory that wait to be written"
)
