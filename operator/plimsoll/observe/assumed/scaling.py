"""How jobs are assumed to scale of which that is not known."""

from typing import Final

GROWTH: Final = 0.9
"""The rate grows with this power of the workers: a doubling brings 1.87 times the rate."""


def scaled(workers: float) -> float:
    """How many times as fast as one worker so many are."""
    return workers**GROWTH
