"""What capacity is chosen by: a fixed quantile of the forecast, or what it is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.load import ServiceLevel
from plimsoll.api.parts.roles import Role
from plimsoll.planning.serving.replicas import one_replica
from plimsoll_placement.estimate.forecast.distribution import Forecast

WHOLE_PERCENT: Final = 100.0
LEAST_ALLOWED: Final = 5e-4
"""A smaller share is kept by the same capacity: so little cannot be told from the past."""


def allowed_share(promised: ServiceLevel) -> float:
    """The share of requests, or of the load, that may miss what is promised."""
    return max(1 - float(promised.attainment_percent) / WHOLE_PERCENT, LEAST_ALLOWED)


@dataclass(frozen=True, slots=True)
class Aim:
    """How much is provided for a load.

    `quantile`: of the forecast, if it is fixed. `allowed`: otherwise the share of the load that may
    be unserved in the long run. `unit`: what one replica carries, 0 if capacity is not counted in
    replicas: that is unknown, or several loads share them.
    """

    quantile: float | None
    allowed: float
    unit: float = 0.0

    @classmethod
    def of(cls, job: InferenceJob, role: Role, buckets: Sequence[str]) -> "Aim":
        """The aim for each of a role's loads."""
        fixed = job.spec.load.forecast.quantile
        unit = one_replica(job, role, buckets[0]) if len(buckets) == 1 else 0.0
        return cls(None if fixed is None else float(fixed), allowed_share(job.spec.slo), unit)

    def worth(self, loads: Forecast, price: float) -> float:
        """The capacity that is worth its price for one of these loads.

        In whole replicas, each of which is expected to be used by more than its price; with a fixed
        quantile, or without knowing what a replica carries, just what is foreseen.
        """
        if self.quantile is not None or not self.unit:
            return loads.wanted(price)
        return loads.replicas(price, self.unit) * self.unit
