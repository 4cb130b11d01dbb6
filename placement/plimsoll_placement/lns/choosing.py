"""Choose the next kind of neighbourhood, favouring those with a high recent yield for their time.

A bandit: each arm keeps what it has yielded and what it has cost, both fading, and is drawn in
proportion to their ratio; now and then an arm is drawn at random.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

FADING = 0.9
CURIOSITY = 0.2

FIRST_ROWS = 8.0
FEWEST_ROWS, MOST_ROWS = 3.0, 60.0
GROWTH, SHRINKAGE = 1.15, 0.8

SOON = 0.4
"""A neighbourhood solved within this share of its time could have been larger."""


@dataclass(slots=True)
class Arm:
    """What one kind has yielded and cost, and how many rows its neighbourhoods have by now."""

    rows: float = FIRST_ROWS
    gained: float = 1.0
    cost: float = 0.1

    @property
    def rate(self) -> float:
        """What it yields per second."""
        return self.gained / self.cost

    def record(self, *, gained: bool, seconds: float) -> None:
        """Count one try."""
        self.gained = FADING * self.gained + gained
        self.cost = FADING * self.cost + seconds

    def resize(self, *, is_proven: bool, seconds: float, most_seconds: float) -> None:
        """Take fewer rows if a neighbourhood was too much, more if it was solved quickly."""
        if not is_proven:
            self.rows = max(FEWEST_ROWS, self.rows * SHRINKAGE)
        elif seconds < SOON * most_seconds:
            self.rows = min(MOST_ROWS, self.rows * GROWTH)


def drawn_arm(arms: Sequence[Arm], rng: Random) -> int:
    """The index of the arm to try next."""
    if rng.random() < CURIOSITY:
        return rng.randrange(len(arms))
    return rng.choices(range(len(arms)), weights=[arm.rate for arm in arms])[0]
