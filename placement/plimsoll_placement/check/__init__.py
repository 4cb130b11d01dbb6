"""The independent verifier: it says whether a plan is sound, however the plan was made.

It shares no code with the solver and reads nothing but the problem and the placements.
"""

from plimsoll_placement.check.verdict import require_sound, violations
from plimsoll_placement.check.violation import Rule, UnsoundPlanError, Violation

__all__ = ["Rule", "UnsoundPlanError", "Violation", "require_sound", "violations"]
