"""The recorded runs as jobs on the twin under the operator's own path, with the preset `Economy`.

A window of a series is a cluster: a spot pool whose only node comes and goes as recorded, from a
day before the window on, and an on-demand pool that always has room. At its beginning comes a job
of one GPU for each deadline and each length of a start. A node goes without notice, and with it
what a job has done in its last minute.
"""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import timedelta

from plimsoll.control.loop_terms import LoopTerms
from plimsoll_bench.spot.series import (
    ON_DEMAND_PRICE,
    OVERHEAD_HOURS,
    SPOT_PRICE,
    TERMS_HOURS,
    TICK_SECONDS,
    WORK_SECONDS,
    Outcome,
    Window,
)
from plimsoll_bench.twin.api_server import Key
from plimsoll_bench.twin.cluster import Twin, TwinTerms, lived
from plimsoll_bench.twin.nodes import gpu_node
from plimsoll_bench.twin.patches import Raw
from plimsoll_bench.twin.training import Gang, Pace, Run

NAMESPACE, GPU_TYPE, GPUS = "deadlines", "Tesla-V100", 16
SPOT, ON_DEMAND = "spot", "on-demand"
PAST_TICKS = 144
"""A day, in which the operator learns what the pool is like."""
PATIENCE_SECONDS = 7200.0
"""How long jobs may run on after the last deadline."""
TERMS = TwinTerms(
    loop=LoopTerms(
        pause_seconds=5.0,
        busy_pause_seconds=5.0,
        idle_seconds=60.0,
        cluster_status_seconds=600.0,
        asks_for_loads=False,
    )
)


def _pace(_gang: Gang, _done: float, /) -> Pace:
    """A second of work each second."""
    return Pace(1.0)


def _pool(name: str, price: float, terms: str) -> Raw:
    return {
        "kind": "GPUPool",
        "metadata": {"name": name},
        "spec": {
            "nodeSelector": {"pool": name},
            "gpuType": GPU_TYPE,
            "capacityType": terms,
            "pricePerGPUHour": str(price),
        },
    }


def _job(twin: Twin, deadline_hours: int, overhead_hours: float, work_seconds: float) -> Raw:
    deadline = twin.clock.now() + timedelta(hours=deadline_hours)
    return {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {
            "name": f"by-{deadline_hours}h-{round(overhead_hours * 3600)}s",
            "namespace": NAMESPACE,
        },
        "spec": {
            "queue": "default",
            "workers": {
                "min": 1,
                "max": 1,
                "gpusPerWorker": 1,
                "template": {"spec": {"containers": [{"name": "main", "image": "recorded:1"}]}},
            },
            "accelerators": [{"type": GPU_TYPE, "throughput": [{"workers": 1, "rate": "1"}]}],
            "work": {"amount": round(work_seconds), "deadline": deadline.isoformat()},
            "spot": {"allowed": True},
            "checkpoint": {
                "interval": "1m",
                "saveSeconds": 0,
                "restoreSeconds": round(overhead_hours * 3600),
            },
        },
    }


def outcomes_on_twin(
    up: Sequence[bool],
    window: Window,
    *,
    deadlines: Sequence[int] = TERMS_HOURS,
    work_seconds: float = WORK_SECONDS,
) -> Iterator[tuple[int, float, Outcome]]:
    """What each job of a window cost, with its deadline and the length of its start, in hours."""
    submitted: dict[str, tuple[int, float]] = {}

    async def story(twin: Twin) -> None:
        twin.apply({"kind": "Namespace", "metadata": {"name": NAMESPACE}})
        twin.apply({"kind": "JobQueue", "metadata": {"name": "default"}, "spec": {}})
        policy = {"objective": {"preset": "Economy"}}
        twin.apply({"kind": "PlacementPolicy", "metadata": {"name": "default"}, "spec": policy})
        twin.apply(_pool(SPOT, SPOT_PRICE, "Spot"))
        twin.apply(_pool(ON_DEMAND, ON_DEMAND_PRICE, "OnDemand"))
        twin.apply(_node(ON_DEMAND))
        past = max(0, window.start - PAST_TICKS)
        had = False
        for tick in range(past, window.end):
            if up[tick] != had:
                had = up[tick]
                _set_spot(twin, there=had)
            if tick == window.start:
                for hours in deadlines:
                    for overhead in OVERHEAD_HOURS:
                        made = twin.apply(_job(twin, hours, overhead, work_seconds), _pace)
                        submitted[made["metadata"]["uid"]] = hours, overhead
            await asyncio.sleep(TICK_SECONDS)
            if submitted and not _left(twin):
                return
        waited = 0.0
        while _left(twin) and waited < PATIENCE_SECONDS:
            await asyncio.sleep(60)
            waited += 60

    twin = lived(story, TERMS)
    for uid, (hours, overhead) in submitted.items():
        yield hours, overhead, _outcome(twin.training.runs[uid], hours)


def _node(pool: str) -> Raw:
    return gpu_node(f"{pool}-node", GPU_TYPE, GPUS, {"pool": pool})


def _set_spot(twin: Twin, *, there: bool) -> None:
    if there:
        twin.apply(_node(SPOT))
    else:
        twin.api.remove(Key("nodes", "", f"{SPOT}-node"))


def _left(twin: Twin) -> list[Run]:
    return [run for run in twin.training.runs.values() if run.account.completed is None]


def _outcome(run: Run, hours: int) -> Outcome:
    account, prices = run.account, {SPOT: SPOT_PRICE, ON_DEMAND: ON_DEMAND_PRICE}
    dollars = sum(
        held / 3600 * prices[node.removesuffix("-node")] for node, held in account.held_on.items()
    )
    took = None if account.completed is None else account.completed - account.submitted
    return Outcome(dollars, late=took is None or took > hours * 3600)
