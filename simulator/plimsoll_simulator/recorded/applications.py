"""What is known of the recorded applications besides their profiles.

From Sia's published evaluation (SOSP 2023): how many seconds a restart takes, how much slower the
application ran on real machines than its profile says, and after how many epochs it is done.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Habits:
    """What a profile does not say about an application."""

    restart_seconds: int
    slowdown: float
    epochs: int


HABITS = {
    "bert": Habits(120, 1.2, 2),
    "cifar10": Habits(50, 1.8, 100),
    "deepspeech2": Habits(25, 1.2, 80),
    "imagenet": Habits(250, 1.2, 90),
    "ncf": Habits(15, 1.5, 10),
    "yolov3": Habits(80, 1.2, 50),
}
