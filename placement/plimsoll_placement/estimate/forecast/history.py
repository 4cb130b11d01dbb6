"""A job's load in the past: regularly spaced samples, as many as are worth remembering.

Missing values are NaN. The time of a sample is not kept: what recurs by the hour, day and week is
found by how many steps lie between two samples.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

DAY_SECONDS = 86400.0
REMEMBERED_SECONDS = 14 * DAY_SECONDS
"""Two weeks, so that each day of the week occurs twice."""
MOST_SAMPLES = 20160
"""Two weeks by the minute; with shorter steps, less time is remembered."""


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Loads, oldest first, one every `step_seconds`; NaN where nothing is known."""

    step_seconds: float
    loads: Floats

    @classmethod
    def of(cls, loads: Iterable[float], step_seconds: float) -> "History":
        """A history of the latest of these loads; negative or infinite ones count as unknown.

        Raises ValueError if the step is not positive.
        """
        if not 0 < step_seconds < np.inf:
            raise ValueError(f"a step of {step_seconds} s is none")
        given = np.fromiter(loads, np.float64)[-remembered(step_seconds) :]
        return cls(step_seconds, np.where(np.isfinite(given) & (given >= 0), given, np.nan))

    def after(self, *loads: float) -> "History":
        """This history and the loads of the steps that followed, NaN for those not seen."""
        return History.of(np.concatenate([self.loads, loads]), self.step_seconds)

    def steps_in(self, seconds: float) -> int:
        """The number of steps closest to this time."""
        return round(seconds / self.step_seconds)


def remembered(step_seconds: float) -> int:
    """How many samples a history keeps."""
    return int(min(MOST_SAMPLES, max(1.0, REMEMBERED_SECONDS / step_seconds)))
