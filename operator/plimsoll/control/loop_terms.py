"""Timing and other settings of the control loop."""

from dataclasses import dataclass
from typing import Final

from plimsoll.observe.nodes.orders import Way
from plimsoll.planning.problem.effort import LARGE

GC_THRESHOLDS: Final = (50_000, 50, 100)
"""For `gc.set_threshold`. Snapshots are many long-lived objects without cycles; looking for cycles
among them took a quarter of a second each time."""


@dataclass(frozen=True, slots=True)
class LoopTerms:
    """How often the loop turns: after a turn it rests for `pause`, or three times that turn's work.

    Waiting for the solver is no work. While more than a quarter of the jobs' permitted concurrent
    writes are under way, the next plan waits and the loop rests for `busy_pause`, because turns and
    writes share one processor. While nothing changes but the time and no job waits, what was worked
    out and reported stands for `unchanged_seconds`. Every `recheck_seconds` everything is worked
    out anew and compared; never if 0. From `large` nodes and jobs on, small changes are planned at
    once and the whole is searched in the background. After a turn failed and no job was found
    responsible, none is suspected for `unexplained_seconds`. `worker_url` is where workers report.
    `asks_for_loads`: whether a Prometheus provides the load of services. `ways`: how nodes may be
    ordered, ProvisioningRequests in the namespace `requests_in`.
    """

    pause_seconds: float = 0.2
    busy_pause_seconds: float = 0.3
    idle_seconds: float = 5.0
    cluster_status_seconds: float = 2.0
    unchanged_seconds: float = 30.0
    recheck_seconds: float = 1800.0
    unexplained_seconds: float = 60.0
    large: int = LARGE
    worker_url: str = ""
    asks_for_loads: bool = True
    ways: frozenset[Way] = frozenset()
    requests_in: str = ""
