"""Thresholds of the alerts; the dashboard draws the same lines."""

from plimsoll.acting.cluster.ledger_status import LATE_AFTER

STALE_SECONDS = 120
"""Since a watch was last confirmed current. Readiness is lost after 90 (PLIMSOLL_STALE_SECONDS)."""
PLAN_SECONDS = 10
"""For a plan, 90th percentile. The search itself is bounded, so more means a lack of CPU."""
DROPPED_SHARE = 0.5
"""Of the plans, those dropped because they no longer held."""
API_ERROR_SHARE = 0.1
"""Of the requests, those that the API server left unanswered, throttled or did not authenticate."""
PROMETHEUS_SECONDS = 300
"""Since a good answer from Prometheus, which is queried every 30."""
NODE_FAILURES = 5
"""Orders of a pool in a row that could not be met; the pauses between them add up to 15 minutes."""
PREEMPTED_SHARE = 0.5
"""Of the admitted jobs, those preempted within the same hour."""
PREEMPTED_AT_LEAST = 10
"""Preempted jobs in an hour; below it their share says little."""
LEDGER_SECONDS = round(LATE_AFTER.total_seconds())
"""Since the end of what the ledger accounts for; it is written every minute."""
