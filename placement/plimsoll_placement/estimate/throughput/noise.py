"""The value of a larger batch: statistical efficiency from the noise of gradients.

After McCandlish et al., "An Empirical Model of Large-Batch Training" (2018), and Qiao et al.,
"Pollux" (OSDI 2021): the gain of one step over a step with the smallest batch.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GradientNoise:
    """Squared norm of the mean gradient and variance of gradients, at the smallest batch."""

    square: float
    variance: float

    def gain(self, scale: Floats) -> Floats:
        """Progress of a step with `scale` times the smallest batch, in steps of the smallest."""
        divisor = self.variance / scale + self.square
        whole = self.variance + self.square
        return np.where(divisor > 0, whole / np.where(divisor > 0, divisor, 1.0), 1.0)
