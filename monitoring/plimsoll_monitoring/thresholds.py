"""From when on something is worth an alert; the dashboard draws the same lines."""

STALE_SECONDS = 120
"""Without a proof that a watch is current. Readiness is lost after 90 (PLIMSOLL_STALE_SECONDS)."""
PLAN_SECONDS = 10
"""For a plan, of nine in ten. The search itself is bounded; more means that its CPU lacks."""
DROPPED_SHARE = 0.5
"""Of the plans, that no longer held when looked at again."""
API_ERROR_SHARE = 0.1
"""Of the requests, that the API server did not answer or had no time for."""
PROMETHEUS_SECONDS = 300
"""Without a good answer of Prometheus; it is asked every 30."""
PREEMPTED_SHARE = 0.5
"""Of the admitted jobs, that were preempted within the same hour."""
PREEMPTED_AT_LEAST = 10
"""Preempted jobs in an hour, below which their share says little."""
