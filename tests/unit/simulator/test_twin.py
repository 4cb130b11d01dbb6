"""The operator's own loop and writer on the twin: what users were promised happens there, too."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_simulator.cluster.api_server import LATENCY_SECONDS, Change, Key
from plimsoll_simulator.cluster.nodes import give_notice, gpu_node
from plimsoll_simulator.cluster.patches import Raw, merged
from plimsoll_simulator.cluster.pods import READY, SCHEDULED, holds
from plimsoll_simulator.programs.training import START_SECONDS, Gang, Pace, Run
from plimsoll_simulator.twin import Twin, TwinTerms, lived
from support.clusters.twin_jobs import HOUR, NAMESPACE, begin, submit
from support.objects.job_manifests import a_policy, a_training_job, an_inference_job

TURNS_SECONDS = 60.0
"""What the operator may take to see, to plan and to write."""


def status_of(twin: Twin, name: str) -> Raw:
    return twin.api.read(Key("trainingjobs", NAMESPACE, name))["status"]


def completed(run: Run) -> float:
    assert run.account.completed is not None
    return run.account.completed


async def an_hour_on_one_of_two(twin: Twin) -> tuple[Run, str]:
    """A gang with two hours of work that has run for one, and its node."""
    begin(twin, gpu_node("a", H100, 8), gpu_node("b", H100, 8))
    run = submit(twin, "job", gpus=8, hours=2)
    await asyncio.sleep(1.11 * HOUR)
    [node] = {pod["spec"]["nodeName"] for pod in twin.api.all("pods")}
    return run, node


async def until(holds: Callable[[], object], *, step_seconds: float = 1.0) -> None:
    while not holds():  # noqa: ASYNC110 - a second passes at once here
        await asyncio.sleep(step_seconds)


def test_a_job_starts_trains_at_its_speed_and_completes() -> None:
    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("a", H100, 8))
        submit(twin, "job", gpus=8, hours=2)
        await asyncio.sleep(2 * HOUR + 60 + TURNS_SECONDS)

    twin = lived(story)
    [run] = twin.training.runs.values()
    assert 2 * HOUR + 60 <= completed(run) <= 2 * HOUR + 60 + TURNS_SECONDS
    assert status_of(twin, "job")["reason"] == "Completed"
    assert run.account.useful_gpu_seconds == pytest.approx(8 * 2 * HOUR)
    assert run.account.starting_gpu_seconds == pytest.approx(8 * 60)
    whole = 2 * HOUR + 60 + START_SECONDS
    held = sum(stay.gpu_seconds for stay in twin.diary.stays())
    assert held == pytest.approx(8 * whole, abs=8)
    assert run.account.lost_gpu_seconds == 0
    assert run.account.starts == 1


@pytest.mark.slow
def test_a_pace_holds_until_the_progress_that_it_names() -> None:
    def slower_after_half(gang: Gang, done: float) -> Pace:
        half = 8 * HOUR / 2
        return Pace(gang.gpus, until=half) if done < half else Pace(gang.gpus / 2)

    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("a", H100, 8))
        run = submit(twin, "job", gpus=8, hours=1, pace=slower_after_half)
        await until(lambda: run.account.completed)

    [run] = lived(story).training.runs.values()
    assert completed(run) == pytest.approx(1.5 * HOUR + 60, abs=TURNS_SECONDS)


def test_a_batch_changes_while_a_gang_trains() -> None:
    """Each step takes as long whatever its batch, and each sample brings as much."""

    def by_batch(gang: Gang, _: float) -> Pace:
        assert gang.batch is not None
        rate = 10.0 * gang.batch.size(gang.gpus)
        return Pace(rate, samples_per_second=rate, gradient_noise=1e9)

    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("a", H100, 8))
        fields: dict[str, Any] = {
            "batch": {"size": 64, "maxSize": 1024},
            "work": {"amount": int(640 * 4 * HOUR), "unit": "samples"},
        }
        job = a_training_job("job", workers=8, rates={H100: {8: 640}}, **fields)
        job["metadata"]["namespace"] = NAMESPACE
        twin.apply(job, by_batch, changes_batch=True)
        [run] = twin.training.runs.values()
        await until(lambda: run.account.completed)

    [run] = lived(story).training.runs.values()
    assert completed(run) < 0.5 * HOUR
    assert (run.account.starts, run.account.lost_gpu_seconds) == (1, 0)


@pytest.mark.slow
def test_a_job_that_gives_way_saves_first_and_goes_on_from_there() -> None:
    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("a", H100, 8))
        twin.apply({"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000})
        low = submit(twin, "low", gpus=8, hours=2)
        await asyncio.sleep(1.11 * HOUR)
        high = submit(twin, "high", gpus=8, hours=1, priorityClassName="high")
        await until(lambda: status_of(twin, "low")["reason"] == "LowerPriority")
        assert high.account.completed is None
        await until(lambda: low.account.completed)

    low, high = lived(story).training.runs.values()
    assert completed(high) == pytest.approx(2.11 * HOUR + 30 + 60, abs=TURNS_SECONDS)
    assert completed(low) == pytest.approx(3 * HOUR + 30 + 3 * 60, abs=2 * TURNS_SECONDS)
    assert low.account.lost_gpu_seconds == 0
    assert low.account.starts == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("interval", "begins"),
    [("1h", 6 * HOUR), ("168h", 6.5 * HOUR)],
    ids=["until it has saved", "for the grace at most"],
)
def test_a_small_urgent_job_waits_for_much_unsaved_work(interval: str, begins: float) -> None:
    """It came half an hour after the last full hour; its gain is worth a quarter of an hour."""

    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("a", H100, 8))
        twin.apply({"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000})
        submit(twin, "low", gpus=8, hours=20, checkpoint={"interval": interval})
        await asyncio.sleep(5.5 * HOUR)
        high = submit(twin, "high", gpus=1, hours=1, priorityClassName="high")
        await asyncio.sleep(TURNS_SECONDS)
        said = status_of(twin, "high")
        assert said["reason"] == "InsufficientGPUs"
        assert (
            "jobs that would lose more work than it gains hold 8 of other types" in said["message"]
        )
        await until(lambda: high.account.started)

    _, high = lived(story).training.runs.values()
    assert high.account.started == pytest.approx(begins, abs=4 * TURNS_SECONDS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("interval", "begins"),
    [("10m", 2.5 * HOUR), ("168h", 4 * HOUR)],
    ids=["it has saved", "it would lose more than is gained"],
)
def test_a_job_moves_if_it_has_saved_for_one_that_needs_a_whole_node(
    interval: str, begins: float
) -> None:
    """Two of four jobs have ended, each beside another; the first of these ends after 4 h."""

    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("a", H100, 8), gpu_node("b", H100, 8))
        for name, hours in (("first", 2), ("long", 4), ("second", 2), ("longer", 8)):
            submit(twin, name, gpus=4, hours=hours, checkpoint={"interval": interval})
            await asyncio.sleep(TURNS_SECONDS)
        await asyncio.sleep(2.5 * HOUR - 4 * TURNS_SECONDS)
        left = {pod["spec"]["nodeName"] for pod in twin.api.all("pods")}
        assert left == {"a", "b"}
        work = {"amount": int(8 * HOUR), "unit": "steps"}
        whole = a_training_job("whole", gpus=8, rates={H100: 8}, queue="default", work=work)
        whole["metadata"]["namespace"] = NAMESPACE
        made = twin.apply(whole, lambda gang, _: Pace(gang.gpus))
        run = twin.training.runs[made["metadata"]["uid"]]
        await asyncio.sleep(TURNS_SECONDS)
        if interval == "168h":
            said = status_of(twin, "whole")["message"]
            assert "jobs that would lose more work than it gains hold 8" in said
        await until(lambda: run.account.started)

    *others, whole = lived(story).training.runs.values()
    assert whole.account.started == pytest.approx(begins, abs=4 * TURNS_SECONDS)
    moved = [run for run in others if run.account.starts > 1]
    assert len(moved) == (interval == "10m")
    assert all(run.account.lost_gpu_seconds == 0 for run in moved)


def test_what_a_lost_node_ran_since_its_last_checkpoint_is_done_again_elsewhere() -> None:
    async def story(twin: Twin) -> None:
        run, node = await an_hour_on_one_of_two(twin)
        twin.api.remove(Key("nodes", "", node))
        assert run.gang is None
        await until(lambda: run.account.completed)
        assert {pod["spec"]["nodeName"] for pod in twin.api.all("pods")} == {"a", "b"} - {node}

    [run] = lived(story).training.runs.values()
    lost = run.account.lost_gpu_seconds / 8
    # It ran for 1.11 h less its start, and saved every ten minutes.
    assert lost == pytest.approx((1.11 * HOUR - 60) % 600, abs=TURNS_SECONDS)
    assert completed(run) == pytest.approx(2 * HOUR + 2 * 60 + lost, abs=2 * TURNS_SECONDS)
    assert run.account.useful_gpu_seconds == pytest.approx(8 * 2 * HOUR)


def test_a_gang_leaves_a_node_with_a_notice_and_loses_nothing() -> None:
    async def story(twin: Twin) -> None:
        run, node = await an_hour_on_one_of_two(twin)
        give_notice(twin.api, node)
        await asyncio.sleep(120)
        twin.api.remove(Key("nodes", "", node))
        await until(lambda: run.account.completed)

    [run] = lived(story).training.runs.values()
    assert run.account.lost_gpu_seconds == 0
    assert completed(run) == pytest.approx(2 * HOUR + 30 + 2 * 60, abs=2 * TURNS_SECONDS)


def test_a_gang_whose_worker_failed_starts_again_from_its_checkpoint() -> None:
    async def story(twin: Twin) -> None:
        run, _ = await an_hour_on_one_of_two(twin)
        twin.kubelets.finish(Key("pods", NAMESPACE, "job-worker-3"), error="Error")
        await until(lambda: run.account.completed)
        assert status_of(twin, "job")["restarts"] == 1
        assert "exit code 1 (Error)" in status_of(twin, "job")["failures"][0]["message"]

    [run] = lived(story).training.runs.values()
    lost = run.account.lost_gpu_seconds / 8
    assert lost == pytest.approx((1.11 * HOUR - 60) % 600, abs=TURNS_SECONDS)
    assert run.account.starts == 2


def test_nothing_starts_on_a_node_that_is_gone() -> None:
    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("a", H100, 8))
        run = submit(twin, "job", gpus=8, hours=1)
        await until(
            lambda: any(holds(pod, SCHEDULED) for pod in twin.api.all("pods")), step_seconds=0.001
        )
        # Sooner than the operator can do anything about it.
        await asyncio.sleep(START_SECONDS - LATENCY_SECONDS / 2)
        twin.api.remove(Key("nodes", "", "a"))
        await asyncio.sleep(60)
        assert run.account.starts == 0
        twin.apply(gpu_node("b", H100, 8))
        await until(lambda: run.account.completed)

    [run] = lived(story).training.runs.values()
    assert run.account.starts == 1


def test_a_replica_is_ready_while_the_operator_lets_it_serve() -> None:
    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("a", H100, 8))
        service = an_inference_job("service", role={"drain": "30s"})
        service["metadata"]["namespace"] = NAMESPACE
        twin.apply(service)
        seen: list[bool] = []
        twin.api.listen(lambda change: seen.extend(is_ready(change)))
        await asyncio.sleep(60)
        assert seen[-1] is True
        suspended = {"spec": {"suspend": True}}
        key = Key("inferencejobs", NAMESPACE, "service")
        twin.api.update(key, lambda job: merged(job, suspended))
        await asyncio.sleep(20)
        assert seen[-1] is False

    lived(story)


def test_no_pod_is_bound_where_there_is_no_room() -> None:
    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("a", H100, 8))
        twin.apply(a_stranger("first", gpus=6))
        await asyncio.sleep(1)
        twin.apply(a_stranger("second", gpus=6))
        await asyncio.sleep(60)
        second = twin.api.read(Key("pods", NAMESPACE, "second"))
        assert "nodeName" not in second["spec"]
        [said] = second["status"]["conditions"]
        assert said["message"] == "node a has too little nvidia.com/gpu"
        twin.api.delete(Key("pods", NAMESPACE, "first"))
        await asyncio.sleep(60)
        assert twin.api.read(Key("pods", NAMESPACE, "second"))["spec"]["nodeName"] == "a"

    lived(story)


def test_a_deleted_jobs_pods_go() -> None:
    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("a", H100, 8))
        submit(twin, "job", gpus=8, hours=2)
        await asyncio.sleep(HOUR)
        assert len([*twin.api.all("pods")]) == 8
        twin.api.delete(Key("trainingjobs", NAMESPACE, "job"))
        await asyncio.sleep(60)
        assert not [*twin.api.all("pods")]
        assert not [*twin.api.all("services")]

    lived(story)


@pytest.mark.slow
def test_the_same_story_ends_the_same() -> None:
    def accounts(story: Callable[[Twin], Coroutine[Any, Any, None]]) -> list[object]:
        return [run.account for run in lived(story).training.runs.values()]

    async def crowded(twin: Twin) -> None:
        begin(twin, *(gpu_node(f"n{i}", kind, 8) for i, kind in enumerate((H100, H100, A100))))
        for number in range(8):
            submit(twin, f"job-{number}", gpus=(1, 2, 4, 8)[number % 4], hours=1 + number / 7)
            await asyncio.sleep(HOUR / 9)
        await asyncio.sleep(2 * HOUR)

    first = accounts(crowded)
    assert first == accounts(crowded)
    assert len(first) == 8


def test_an_error_in_the_story_is_raised() -> None:
    async def story(_: Twin) -> None:
        raise RuntimeError("the story is told wrongly")

    with pytest.raises(RuntimeError, match="told wrongly"):
        lived(story)


def test_an_error_in_the_cluster_is_raised() -> None:
    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("a", H100, 8))
        submit(twin, "job", gpus=8, hours=2, pace=lambda _, __: Pace(0))
        await asyncio.sleep(HOUR)

    with pytest.raises(ValueError, match="job has no speed on"):
        lived(story)


def is_ready(change: Change) -> list[bool]:
    """Whether a pod whose containers run is ready; nothing of all else."""
    pod = change.after if change.key.plural == "pods" else None
    is_up = pod is not None and holds(pod, "ContainersReady")
    return [holds(pod, READY)] if pod is not None and is_up else []


def a_stranger(name: str, *, gpus: int) -> Raw:
    """A pod of nobody's job, which asks for a node by itself."""
    here = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    required = {"nodeSelectorTerms": [{"matchFields": [here]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    container = {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"affinity": affinity, "containers": [container]},
    }


async def a_hole_on_each_of_two_nodes(twin: Twin, percent: int) -> None:
    """Two gangs of four on a node each, and one that needs a whole node."""
    begin(twin, gpu_node("a", H100, 8), gpu_node("b", H100, 8))
    budget = {"window": "1h", "maxLostPercent": percent}
    policy = a_policy(disruptionBudgets=[budget], planning={"timeLimit": "2s"})
    twin.apply(policy)
    for name, hours in (("stays-1", 3.0), ("ends-1", 0.2), ("stays-2", 3.0), ("ends-2", 0.2)):
        submit(twin, name, gpus=4, hours=hours)
        await asyncio.sleep(TURNS_SECONDS)
    await until(lambda: status_of(twin, "ends-2")["reason"] == "Completed")
    large = a_training_job("large", gpus=8, queue="default", work={"amount": 600, "unit": "steps"})
    large["metadata"]["namespace"] = NAMESPACE
    twin.apply(large)
    await asyncio.sleep(HOUR / 6)


@pytest.mark.parametrize(("percent", "moves"), [(5, True), (0, False)])
def test_work_is_thrown_away_within_the_disruption_budget(percent: int, *, moves: bool) -> None:
    async def story(twin: Twin) -> None:
        await a_hole_on_each_of_two_nodes(twin, percent)

    twin = lived(story, TwinTerms(most_effort_seconds=1.0))
    assert ("placement" in status_of(twin, "large")) is moves
    lost = [each for i in (1, 2) for each in status_of(twin, f"stays-{i}").get("lostWork", ())]
    assert [0 < each["gpuSeconds"] <= HOUR for each in lost] == [True] * moves
