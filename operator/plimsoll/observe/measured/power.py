"""Measured GPU power at one moment, by power domain, node and pod.

How it is queried is in `plimsoll.signals`. A name that is missing was not measured, which is not
the same as 0 W.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

PodKey = tuple[str, str]
"""A pod's namespace and name."""


@dataclass(frozen=True, slots=True)
class PodPower:
    """The watts drawn by some GPUs of a pod, and the number of those GPUs."""

    watts: float
    gpus: int


@dataclass(frozen=True, slots=True)
class PowerReading:
    """Watts by domain name and by node name, all finite and not negative.

    `measured_at` is the time of the oldest sample. A domain's draw need not be the sum of its
    nodes: its query may count more than GPUs, and some of its nodes may be silent. `problems` says
    for people why a domain was not measured. `pods` are those that the exporter reports as having a
    GPU; None if it was not queried this time.
    """

    measured_at: datetime
    domains: Mapping[str, float] = field(default_factory=dict[str, float])
    nodes: Mapping[str, float] = field(default_factory=dict[str, float])
    problems: Mapping[str, str] = field(default_factory=dict[str, str])
    pods: Mapping[PodKey, PodPower] | None = None
