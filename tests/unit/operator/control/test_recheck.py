"""What is kept from turn to turn: it is what comes of looking at everything anew."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from plimsoll.control.loop_terms import LoopTerms
from plimsoll.control.recheck import Recheck, RecheckedPart, differences
from plimsoll.observe.observer import Observer
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_simulator.cluster.api_server import Key
from plimsoll_simulator.cluster.nodes import give_notice, gpu_node
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.twin import BEGINS, Twin, TwinTerms, lived
from support.objects.job_manifests import (
    H100,
    a_pool,
    a_power_domain,
    a_priority_class,
    a_queue,
    a_training_job,
)

EVERY_TURN = TwinTerms(loop=LoopTerms(recheck_seconds=0.01))
POWER = {"idleWatts": 100, "typicalWatts": 500, "limitWatts": 700, "minCapWatts": 200}


def found_differences() -> float:
    """How often anything has differed so far."""
    name = "plimsoll_incremental_differences_total"
    return sum(REGISTRY.get_sample_value(name, {"part": part}) or 0 for part in RecheckedPart)


def fill(twin: Twin) -> None:
    """Three nodes in two rows, of which one has little power, and a queue with a limit."""
    twin.apply(a_priority_class("urgent", 100))
    twin.apply(a_pool("main", {"pool": "main"}, power=POWER, pricePerGPUHour="2"))
    twin.apply(a_power_domain("row-0", {"row": "0"}, budget_watts=3000))
    twin.apply(a_power_domain("row-1", {"row": "1"}, budget_watts=50_000))
    twin.apply(a_queue("small", limit=3))
    for number in range(3):
        twin.apply(a_row_node(number))


def a_row_node(number: int) -> Raw:
    labels = {"pool": "main", "row": str(number % 2)}
    return gpu_node(f"node-{number}", H100, 4, labels)


def a_job(name: str, **fields: Any) -> Raw:  # noqa: ANN401 - of a job
    job = a_training_job(name, **fields)
    return {**job, "metadata": {**job["metadata"], "namespace": "default"}}


class Happenings:
    """Random changes of a cluster."""

    def __init__(self, seed: int, twin: Twin) -> None:
        self._rng, self._twin = Random(seed), twin
        self._jobs = self._nodes = 3

    def any(self) -> None:
        """Something happens."""
        kinds: tuple[Callable[[], None], ...] = (
            self.arrival,
            self.arrival,
            self.end,
            self.deletion,
            self.node_lost,
            self.node_found,
            self.notice,
            self.price,
            self.edit,
        )
        self._rng.choice(kinds)()

    def _one_of(self, plural: str) -> Key | None:
        keys = [
            Key(plural, each["metadata"].get("namespace", ""), each["metadata"]["name"])
            for each in self._twin.api.all(plural)
            if "deletionTimestamp" not in each["metadata"]
        ]
        return self._rng.choice(keys) if keys else None

    def arrival(self) -> None:
        self._jobs += 1
        rng = self._rng
        least = rng.choice((1, 1, 2, 4))
        wishes = {"priorityClassName": "urgent"} if rng.random() < 0.2 else {}
        queue = {"queue": "small"} if rng.random() < 0.3 else {}
        workers = (least, least * rng.choice((1, 2)))
        self._twin.apply(a_job(f"job-{self._jobs}", workers=workers, **wishes, **queue))

    def end(self) -> None:
        key = self._one_of("pods")
        if key is not None and self._twin.api.read(key)["status"].get("phase") == "Running":
            self._twin.kubelets.finish(key)

    def deletion(self) -> None:
        key = self._one_of("trainingjobs")
        if key is not None:
            self._twin.api.delete(key)

    def node_lost(self) -> None:
        key = self._one_of("nodes")
        if key is not None:
            self._twin.api.delete(key)

    def node_found(self) -> None:
        self._nodes += 1
        self._twin.apply(a_row_node(self._nodes))

    def notice(self) -> None:
        key = self._one_of("nodes")
        if key is not None:
            give_notice(self._twin.api, key.name)

    def price(self) -> None:
        self._edit(Key("gpupools", "", "main"), "pricePerGPUHour", str(self._rng.randint(1, 9)))

    def edit(self) -> None:
        key = self._one_of("trainingjobs")
        if key is not None:
            self._edit(key, "suspend", self._rng.random() < 0.5)

    def _edit(self, key: Key, field: str, value: object) -> None:
        def changed(item: Raw) -> Raw:
            meta = {**item["metadata"], "generation": item["metadata"]["generation"] + 1}
            return {**item, "metadata": meta, "spec": {**item["spec"], field: value}}

        self._twin.api.update(key, changed)


@settings(max_examples=settings().max_examples // 6)
@given(st.integers(0, 10**9))
def test_what_is_kept_is_what_looking_at_everything_gives(seed: int) -> None:
    before = found_differences()

    async def story(twin: Twin) -> None:
        fill(twin)
        happenings = Happenings(seed, twin)
        for _ in range(12):
            happenings.any()
            await asyncio.sleep(9)

    lived(story, EVERY_TURN)
    assert found_differences() == before


def test_a_difference_is_found_and_counted_with_its_name() -> None:
    before = found_differences()

    async def story(twin: Twin) -> None:
        fill(twin)
        twin.apply(a_job("lonely"))
        await asyncio.sleep(20)
        snapshot = Observer().snapshot(twin.objects(), BEGINS)
        plan_input = plan_input_of(snapshot, ProblemBuilder())
        assert [*differences(twin.objects(), snapshot, plan_input)] == []
        [job] = plan_input.problem.jobs
        wrong = replace(plan_input.problem, jobs=(replace(job, priority=7),))
        wrongly = replace(plan_input, problem=wrong)
        found = [*differences(twin.objects(), snapshot, wrongly)]
        assert found == [(RecheckedPart.PROBLEM, ["TrainingJob/default/lonely"])]
        recheck = Recheck(twin.clock, seconds=1)
        await asyncio.sleep(2)
        recheck.turn(twin.objects(), snapshot, wrongly)
        await asyncio.sleep(1)
        assert recheck.take_differing() == {RecheckedPart.PROBLEM}
        assert not recheck.take_differing()

    lived(story)
    assert found_differences() == before + 1


def test_what_has_changed_unnoticed_is_seen_after_the_next_comparison() -> None:
    """As if an event had been lost, or something were kept for too long."""

    async def story(twin: Twin) -> None:
        twin.apply(gpu_node("node", H100, 8))
        [node] = twin.objects().nodes
        true, less = node.status, {**node.status.allocatable, "nvidia.com/gpu": "4"}
        early = msgspec.structs.replace(true, allocatable=less, capacity=less)
        msgspec.structs.force_setattr(node, "status", early)
        twin.apply(a_job("large", gpus=8))
        key = Key("trainingjobs", "default", "large")
        await asyncio.sleep(20)
        msgspec.structs.force_setattr(node, "status", true)
        await asyncio.sleep(30)
        assert twin.api.read(key)["status"]["reason"] == "CannotFit"
        await asyncio.sleep(40)
        assert twin.api.read(key)["status"]["reason"] == "Running"

    lived(story, TwinTerms(loop=LoopTerms(recheck_seconds=60)))
