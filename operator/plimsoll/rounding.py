"""Round figures, so that reports that differ little do not trigger a new plan."""

import math
from collections.abc import Callable

STEP = 1.1
STEPS_TO_DOUBLE = 32
"""So many steps of about 2 % double an amount."""


def in_tenths(amount: float) -> float:
    """An amount, such as remaining work, in steps of a tenth; 0 stays 0."""
    return STEP ** round(math.log(amount, STEP)) if amount > 0 else 0.0


def in_fiftieths(factor: float) -> float:
    """A factor above 0 in steps of about 2 %."""
    return in_steps(factor, STEPS_TO_DOUBLE)


def in_steps(amount: float, to_double: int, rounded: Callable[[float], int] = round) -> float:
    """An amount above 0 in even steps, so many of which double it."""
    return 2.0 ** (rounded(math.log2(amount) * to_double) / to_double)
