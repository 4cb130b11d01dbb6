"""How often the loop turns, and with what."""

from dataclasses import dataclass

from plimsoll.planning.problem.effort import LARGE


@dataclass(frozen=True, slots=True)
class LoopTerms:
    """How often the loop turns: after a turn it rests for `pause`, or thrice what the turn took.

    While more than a quarter of the jobs' writes that may be under way are not done, the next plan
    waits and the loop rests for `busy_pause`, for turns and writes share one processor. From
    `large` nodes and jobs on, small changes are answered at once and the whole is searched
    afterwards.
    After a turn has failed for no job's sake, none is suspected for `unexplained_seconds`.
    `worker_url` is where workers report to. `asks_for_loads`: whether a Prometheus tells the loads
    of services.
    """

    pause_seconds: float = 0.2
    busy_pause_seconds: float = 0.7
    idle_seconds: float = 5.0
    cluster_status_seconds: float = 2.0
    unexplained_seconds: float = 60.0
    large: int = LARGE
    worker_url: str = ""
    asks_for_loads: bool = True
