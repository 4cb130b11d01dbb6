"""How many replicas a HorizontalPodAutoscaler would give a service.

It aims at 70 % of what a replica answers, and takes none away within five minutes.
"""

import math
from collections import deque

from plimsoll.clock import Clock
from plimsoll_simulator.programs.serving import Service, TrueService

HPA_UTILISATION = 0.7
HPA_WINDOW_SECONDS = 120.0
HPA_STABILISATION_SECONDS = 300.0


class Autoscaler:
    """Remembers how many replicas each service was to have lately."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wanted: dict[str, deque[tuple[float, int]]] = {}

    def replicas(self, service: Service) -> int:
        """How many replicas an autoscaler would want now."""
        now, [role] = self._clock.monotonic(), service.job.spec.roles
        rate = service.truth.requests.mean(now - HPA_WINDOW_SECONDS, now)
        wanted = math.ceil(rate / (HPA_UTILISATION * preferred(service.truth)[1]))
        wanted = min(max(wanted, role.replicas.min), role.replicas.max)
        recent = self._wanted.setdefault(service.job.metadata.uid, deque())
        recent.append((now, wanted))
        while now - recent[0][0] > HPA_STABILISATION_SECONDS:
            recent.popleft()
        return max(count for _, count in recent)


def preferred(service: TrueService) -> tuple[str, float]:
    """The GPU type that a service is scaled by, and what a replica answers there."""
    return min(service.answers.items(), key=lambda pair: pair[1])
