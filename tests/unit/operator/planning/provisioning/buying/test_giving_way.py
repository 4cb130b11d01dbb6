"""Gangs move to cheaper nodes rather than that dear ones are bought for services."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from plimsoll.control.provisioning.procurement import worked_out
from plimsoll.observe.snapshot import JobName
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.buying.purchases import Purchases, offer_to
from plimsoll.planning.provisioning.future_nodes import future_nodes
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_simulator.inline_solver import InlineSolver
from support.clusters.fleets import a_job_on, bought
from support.clusters.seen import at, seen
from support.objects.bought_nodes import a_claim, a_growing_pool
from support.objects.job_manifests import (
    a_policy,
    a_priority_class,
    a_training_job,
    an_inference_job,
)

DEAR = a_growing_pool("dear", price="10")
CHEAP = a_growing_pool("cheap", gpu_type=A100, price="1")
ANYWHERE = {H100: 1, A100: 1}
URGENT: Mapping[str, Any] = {"priorityClassName": "high"}
SERVICE = at(an_inference_job("serve", replicas=4, **URGENT), "a", "a")
THERE = (DEAR, CHEAP, *bought("a", "dear"), a_priority_class("high", 10))


def found_for(*manifests: Manifest) -> Purchases:
    """What is bought for who lacks GPUs while all else stays as it is."""
    snapshot, builder = seen(*THERE, *manifests), ProblemBuilder()
    as_it_is = plan_input_of(snapshot, builder).problem
    offer = offer_to(snapshot, as_it_is, future_nodes(snapshot, frozenset()), builder)
    found = asyncio.run(worked_out(InlineSolver(0), offer, None))
    assert found is not None
    return found


def test_a_gang_gives_way_to_a_service_and_gets_a_cheaper_node() -> None:
    found = found_for(SERVICE, a_job_on("a", "gang", 6, rates=ANYWHERE))
    assert found.nodes == {"cheap": 1}
    assert [each.pool.metadata.name for each in found.waiting[_job("InferenceJob", "serve")]] == [
        "cheap"
    ]
    assert _job("TrainingJob", "gang") not in found.waiting


def test_what_is_on_its_way_for_that_stays_what_the_service_waits_for() -> None:
    gang = a_job_on("a", "gang", 6, rates=ANYWHERE)
    found = found_for(SERVICE, gang, a_claim("cheap-1", "cheap"))
    assert not found.nodes
    [node] = found.waiting[_job("InferenceJob", "serve")]
    assert node.order is not None
    assert node.order.name == "cheap-1"


@pytest.mark.parametrize(
    "gang",
    [
        a_job_on("a", "needs-these", 6),
        a_job_on("a", "as-important", 6, rates=ANYWHERE, **URGENT),
        a_job_on("a", "protected", 6, rates=ANYWHERE, disruption={"maxPerDay": 0}),
        a_job_on("a", "too-wide", 6, rates={H100: 1, "L4": 1}),
    ],
    ids=lambda gang: gang["metadata"]["name"],
)
def test_others_stay_where_they_are(gang: Manifest) -> None:
    assert found_for(SERVICE, gang).nodes == {"dear": 1}


def test_a_gang_stays_that_would_lose_more_than_its_move_saves() -> None:
    gang = a_job_on("a", "gang", 6, rates=ANYWHERE)
    lavish = a_policy(objective={"weights": {"money": "0.00001"}})
    assert found_for(SERVICE, gang, lavish).nodes == {"dear": 1}


def test_nobody_gives_way_to_a_gang() -> None:
    gang = a_job_on("a", "gang", 6, rates=ANYWHERE)
    assert found_for(gang, a_training_job("urgent", gpus=4, **URGENT)).nodes == {"dear": 1}


def _job(kind: str, name: str) -> JobName:
    return JobName(f"{kind}/team/{name}")
