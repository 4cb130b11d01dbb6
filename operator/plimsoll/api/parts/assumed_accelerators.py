"""GPU types of a job with rates that its spec does not state; never written by anyone."""

from typing import ClassVar

from plimsoll.api.parts.gang import Accelerator
from plimsoll.api.parts.progress import MeasuredRate


class AssumedAccelerator(Accelerator):
    """One with assumed rates."""

    is_assumed: ClassVar[bool] = True


class LearnedAccelerator(AssumedAccelerator):
    """One with rates that jobs of the same program have measured."""

    is_learned: ClassVar[bool] = True
    steps: tuple[MeasuredRate, ...] = ()
    """How long theirs took; their rates and seconds say nothing."""
