"""What do the GPUs draw, as measured at one moment? By power domain, by node and by pod.

How it is asked for stands in `plimsoll.signals`. Whoever is not named was not measured: that is not
the same as 0 W.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

PodKey = tuple[str, str]
"""A pod's namespace and name."""


@dataclass(frozen=True, slots=True)
class PodPower:
    """What some GPUs of a pod draw in watts, and how many GPUs that are."""

    watts: float
    gpus: int


@dataclass(frozen=True, slots=True)
class PowerReading:
    """Watts by domain name and by node name, all finite and not negative.

    `measured_at` is the oldest moment that any of them speaks of. What a domain draws need not be
    the sum of its nodes: its query may count more than GPUs, and some of its nodes may be silent.
    `problems` says for people why a domain was not measured. `pods` are those of which the exporter
    tells that they have a GPU; None where it was not asked for them this time.
    """

    measured_at: datetime
    domains: Mapping[str, float] = field(default_factory=dict[str, float])
    nodes: Mapping[str, float] = field(default_factory=dict[str, float])
    problems: Mapping[str, str] = field(default_factory=dict[str, str])
    pods: Mapping[PodKey, PodPower] | None = None
