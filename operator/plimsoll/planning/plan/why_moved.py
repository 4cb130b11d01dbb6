"""Why a job that keeps its size moves, in words.

Its place is no longer allowed, or another suits it better: it is faster, cheaper or safer there.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from plimsoll.naming import first_few
from plimsoll_placement.model import Assignment, Assignments, Job, Node, NodeName, Role
from plimsoll_placement.placing.retention import in_one_domain, limits_of, spot_share_holds
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import (
    MICRODOLLARS_PER_DOLLAR,
    WHOLE_PERCENT,
    crosses,
    crossing_percent,
    held_milli,
)

_CENT: Final = 0.01
_SEVERAL: Final = 2
_LEAST_MENTIONED: Final = 0.01
"""Differences below this share of what was are not mentioned."""


def why_not_there(problem: Problem, job: Job) -> str:
    """Why a job may not stay where it is, even if nobody else needs that; "" if it may.

    Nodes that are gone, or that everybody must leave, do not count.
    """
    for role in job.roles:
        for why in _obstacles(problem, job, role):
            return why
    if not spot_share_holds(problem, job, job.running):
        return "more of it is on spot than it allows"
    return ""


def _obstacles(problem: Problem, job: Job, role: Role) -> Iterator[str]:
    mine = [each for each in job.running if each.role == role.name]
    nodes, index = _nodes(problem, mine), problem.node_index
    level, spot_percent = limits_of(job, role)
    on_spot = [node for node in nodes if node.spot]
    barred = [node for node in nodes if not role.eligible >> index[node.name] & 1]
    together = [_names(mine)] if job.gang else [each.nodes for each in mine]
    for gpu_type in sorted({each.gpu_type for each in mine} - role.yields.keys()):
        yield f"it may no longer run on {gpu_type}"
    if on_spot and not spot_percent:
        yield f"it may not be on spot, as {_named(on_spot)} is"
    if barred:
        yield f"it may not be on {_named(barred)} now"
    if level is not None and not all(in_one_domain(problem, level, each) for each in together):
        yield f"it must be in one {problem.levels[level]}"


@dataclass(frozen=True, slots=True)
class _Place:
    """What counts of a place.

    `kept`: the part of its speed that a gang keeps there, given its network.
    `dollars`: an hour. `interruptions`: how often pods are to be interrupted, in a thousand hours.
    """

    kept: float
    dollars: float
    interruptions: int

    @classmethod
    def of(cls, problem: Problem, job: Job, placed: Assignments) -> "_Place":
        pods = [
            (node, held_milli(job, (each,)) // len(each.nodes))
            for each in placed
            for node in _nodes(problem, (each,))
        ]
        lead = [each for each in placed if each.role == job.roles[0].name]
        is_split = job.gang and crosses(problem, job, _names(lead))
        lost = crossing_percent(problem, job, placed[0].gpu_type) if is_split else 0
        millis = sum(node.microdollars_per_gpu_hour * milli for node, milli in pods)
        return cls(
            kept=1 - lost / WHOLE_PERCENT,
            dollars=millis / 1000 / MICRODOLLARS_PER_DOLLAR,
            interruptions=sum(node.interruptions_per_kilohour for node, _ in pods),
        )


def what_it_gains(problem: Problem, job: Job, now: Assignments, speed: float) -> str:
    """What a job gains by a move, and what that costs; "" if it gains nothing of these.

    `speed`: how fast the new GPUs are for it, relative to the old ones, as far as that is known.
    """
    was, will = _Place.of(problem, job, job.running), _Place.of(problem, job, now)
    differences = (
        *_faster(was.kept, will.kept * speed),
        *_cheaper(was.dollars, will.dollars),
        *_safer(was.interruptions, will.interruptions),
    )
    gains = [text for is_gain, text in differences if is_gain]
    losses = [text for is_gain, text in differences if not is_gain]
    if not gains:
        return ""
    return ", ".join(gains) + (f", though {', '.join(losses)}" if losses else "")


_Difference = Iterator[tuple[bool, str]]
"""Whether a difference is a gain, and the difference in words; nothing if there is none."""


def _faster(was: float, will: float) -> _Difference:
    if not was or not _differ(was, will):
        return
    ratio = will / was
    percent = abs(ratio - 1) * WHOLE_PERCENT
    if ratio >= _SEVERAL:
        yield True, f"{round(ratio, 1):g} times as fast"
    else:
        yield ratio > 1, f"{percent:.0f} % {'faster' if ratio > 1 else 'slower'}"


def _cheaper(was: float, will: float) -> _Difference:
    if _differ(was, will):
        amount = abs(will - was)
        digits = f"{amount:.2f}" if amount >= _CENT else f"{amount:.1g}"
        yield will < was, f"{digits} an hour {'cheaper' if will < was else 'dearer'}"


def _safer(was: int, will: int) -> _Difference:
    if _differ(was, will):
        yield will < was, f"{'less' if will < was else 'more'} likely to be interrupted"


def _differ(was: float, will: float) -> bool:
    return abs(was - will) > _LEAST_MENTIONED * was


def _nodes(problem: Problem, placed: Iterable[Assignment]) -> list[Node]:
    """The nodes of each pod that are still there."""
    index = problem.node_index
    return [problem.nodes[index[name]] for name in _names(placed) if name in index]


def _names(placed: Iterable[Assignment]) -> list[NodeName]:
    return [name for each in placed for name in each.nodes]


def _named(nodes: Iterable[Node]) -> str:
    return first_few(sorted({node.name for node in nodes}))
