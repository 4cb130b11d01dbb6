"""What makes two jobs alike: every field of a job that is not left out on purpose."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import pytest

from plimsoll.planning.plan import validation
from plimsoll.planning.quota import reservation
from plimsoll_placement.classes import job_classes
from plimsoll_placement.explain import explainer
from plimsoll_placement.heuristics import kinds
from plimsoll_placement.model import GpuType, Job, JobName, LeftOut, QueueName, Role, Shape
from support.problems.builders import A100, H100, a_mixable_role, a_training_job, on

JOB = a_training_job("one", worker=a_mixable_role())
ROLE = JOB.roles[0]
OTHER_SHAPES = [
    Shape(2000),
    Shape(1000, cpu_millis=1),
    Shape(1000, memory_bytes=1),
    Shape(1000, draw_milli=500),
    Shape(1000, gpu_memory_bytes=1),
    Shape(1000, others=(("rdma/hca", 1),)),
]
OTHER_ROLE: Mapping[str, list[Any]] = {
    "name": ["another"],
    "shape": OTHER_SHAPES,
    "counts": [(1, 2)],
    "yields": [{H100: (2000,)}, {A100: (1000,)}],
    "eligible": [1],
    "pods_per_replica": [2],
    "mixable": [False],
    "wanted_milli": [5000],
    "wanted_count": [1],
    "fineness": [2],
    "uncapped_draw_milli": [900],
    "load_nano": [1],
    "spot_percent": [50],
    "required_level": [0],
}
"""For each field values other than the role's."""

OTHER_JOB: Mapping[str, list[Any]] = {
    "name": ["another"],
    "queue": [QueueName("another")],
    "priority": [1],
    "roles": [(), (ROLE, ROLE)],
    "gang": [False],
    "sequence": [1],
    "urgency_milli": [2000],
    "required_level": [0],
    "preferred_level": [0],
    "crossing_percent": [{H100: 5}],
    "spot_percent": [50],
    "running": [(on("n0"),), (on("n0", replica=1),)],
    "pinned": [True],
    "restart_seconds": [1],
    "checkpoint_seconds": [1],
    "payback_seconds": [0],
    "overdue": [True],
    "part_of": [JobName("another")],
}
"""The same of the job."""

NOTHING = LeftOut(job={}, role={})
PLACES = {
    "nothing": NOTHING,
    "greedy": kinds.LEFT_OUT,
    "job_classes": job_classes.LEFT_OUT,
    "admission": job_classes.LEFT_OUT_OF_ADMISSION,
    "explainer": explainer.LEFT_OUT,
    "reservation": reservation.LEFT_OUT,
    "validation": validation.LEFT_OUT,
}


def _differs(one: Job | Role, other: Job | Role, left_out: LeftOut) -> bool:
    signatures = {one.signature(left_out), other.signature(left_out)}
    return len(signatures) == 2


def test_there_are_other_values_for_every_field() -> None:
    assert {each.name for each in fields(Job)} == OTHER_JOB.keys()
    assert {each.name for each in fields(Role)} == OTHER_ROLE.keys()
    assert len(fields(Shape)) == len(OTHER_SHAPES)


@pytest.mark.parametrize("left_out", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("name", OTHER_JOB)
def test_a_field_of_a_job_counts_unless_it_is_left_out(name: str, left_out: LeftOut) -> None:
    others = [replace(JOB, **{name: value}) for value in OTHER_JOB[name]]
    assert {_differs(JOB, each, left_out) for each in others} == {name not in left_out.job}


@pytest.mark.parametrize("left_out", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("name", OTHER_ROLE)
def test_a_field_of_a_role_counts_unless_it_is_left_out(name: str, left_out: LeftOut) -> None:
    others = [replace(ROLE, **{name: value}) for value in OTHER_ROLE[name]]
    assert {_differs(ROLE, each, left_out) for each in others} == {name not in left_out.role}


@pytest.mark.parametrize("left_out", PLACES.values(), ids=PLACES)
def test_what_is_left_out_is_a_field_and_has_a_reason(left_out: LeftOut) -> None:
    assert left_out.job.keys() <= OTHER_JOB.keys()
    assert left_out.role.keys() <= OTHER_ROLE.keys()
    assert all((*left_out.job.values(), *left_out.role.values()))


@pytest.mark.parametrize("left_out", PLACES.values(), ids=PLACES)
def test_a_job_counts_with_its_roles_unless_they_are_left_out(left_out: LeftOut) -> None:
    shape = replace(JOB, roles=(replace(ROLE, shape=Shape(2000)),))
    assert _differs(JOB, shape, left_out) is ("roles" not in left_out.job)


def test_jobs_are_alike_in_whatever_order_their_types_come() -> None:
    def job(*kinds: GpuType) -> Job:
        role = replace(ROLE, yields=dict.fromkeys(kinds, (1000,)))
        return replace(JOB, roles=(role,), crossing_percent=dict.fromkeys(kinds, 5))

    assert not _differs(job(H100, A100), job(A100, H100), NOTHING)
