"""Why a job waits, in numbers, and what would let it run, with proof."""

from plimsoll_placement.explain.again import Again
from plimsoll_placement.explain.changes.relaxing import Relaxation, relaxations
from plimsoll_placement.explain.explainer import (
    Explainer,
    Feasibilities,
    Feasibility,
    fits_alone,
    lacks_alone,
)
from plimsoll_placement.explain.giving_way import GivingWay, Loss, giving_way, losses
from plimsoll_placement.explain.proof import Proof, proofs
from plimsoll_placement.explain.shortage.lack import Lack
from plimsoll_placement.explain.shortage.shortage import Reason, Shortage
from plimsoll_placement.explain.starting import Ends, Start, earliest_start

__all__ = [
    "Again",
    "Ends",
    "Explainer",
    "Feasibilities",
    "Feasibility",
    "GivingWay",
    "Lack",
    "Loss",
    "Proof",
    "Reason",
    "Relaxation",
    "Shortage",
    "Start",
    "earliest_start",
    "fits_alone",
    "giving_way",
    "lacks_alone",
    "losses",
    "proofs",
    "relaxations",
]
