"""Why a job waits, in numbers, and what would let it run, with proof."""

from plimsoll_placement.explain.explainer import Explainer, Feasibility, fits_alone, lacks_alone
from plimsoll_placement.explain.lack import Lack
from plimsoll_placement.explain.relaxing import Relaxation, relaxations
from plimsoll_placement.explain.shortage import Reason, Shortage

__all__ = [
    "Explainer",
    "Feasibility",
    "Lack",
    "Reason",
    "Relaxation",
    "Shortage",
    "fits_alone",
    "lacks_alone",
    "relaxations",
]
