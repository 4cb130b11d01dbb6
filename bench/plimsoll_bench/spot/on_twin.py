"""The recorded runs as jobs on the twin under the operator's own path, by default with `Economy`.

A window of a series is a cluster: a spot pool whose only node comes and goes as recorded, from a
day before the window on, and an on-demand pool that always has room. At its beginning comes a job
of one GPU for each deadline and each length of a start. A node goes without notice, and with it
what a job has done in its last minute.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial

from plimsoll.api.placement_policy import Preset
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
    changes,
)
from plimsoll_simulator.cluster.api_server import Key
from plimsoll_simulator.cluster.nodes import gpu_node
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.diary import Stay, by_job
from plimsoll_simulator.programs.training import Gang, Pace, Run
from plimsoll_simulator.story import End, Event, told
from plimsoll_simulator.twin import Twin, TwinTerms

NAMESPACE, GPU_TYPE, GPUS = "deadlines", "Tesla-V100", 16
SPOT, ON_DEMAND = "spot", "on-demand"
PAST_TICKS = 144
"""A day, in which the operator learns what the pool is like."""
TERMS = TwinTerms(
    loop=LoopTerms(
        pause_seconds=5.0,
        busy_pause_seconds=5.0,
        idle_seconds=60.0,
        cluster_status_seconds=600.0,
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
    preset: Preset = "Economy",
) -> Iterator[tuple[int, float, Outcome]]:
    """What each job of a window cost, with its deadline and the length of its start, in hours."""
    submitted: dict[str, tuple[int, float]] = {}

    def submit(twin: Twin) -> None:
        for hours in deadlines:
            for overhead in OVERHEAD_HOURS:
                made = twin.apply(_job(twin, hours, overhead, work_seconds), _pace)
                submitted[made["metadata"]["name"]] = hours, overhead

    past = max(0, window.start - PAST_TICKS)
    begins = (window.start - past) * TICK_SECONDS
    lived = told(
        [*map(_applying, _cluster(preset)), Event(begins, submit)],
        _spot_changes(up[past : window.end]),
        terms=TERMS,
        end=End(patience_seconds=max(deadlines) * 3600.0),
    )
    stays = by_job(lived.stays)
    for run in lived.runs:
        hours, overhead = submitted[run.job.metadata.name]
        yield hours, overhead, _outcome(run, stays.get(run.name, ()), hours)


def _cluster(preset: Preset) -> Iterator[Raw]:
    yield {"kind": "Namespace", "metadata": {"name": NAMESPACE}}
    yield {"kind": "JobQueue", "metadata": {"name": "default"}, "spec": {}}
    policy = {"objective": {"preset": preset}}
    yield {"kind": "PlacementPolicy", "metadata": {"name": "default"}, "spec": policy}
    yield _pool(SPOT, SPOT_PRICE, "Spot")
    yield _pool(ON_DEMAND, ON_DEMAND_PRICE, "OnDemand")
    yield _node(ON_DEMAND)


def _applying(manifest: Raw, seconds: float = 0.0) -> Event:
    return Event(seconds, partial(Twin.apply, manifest=manifest))


def _spot_changes(up: Sequence[bool]) -> Iterator[Event]:
    for at, is_up in changes(up):
        yield _applying(_node(SPOT), at) if is_up else Event(at, _take_spot)


def _take_spot(twin: Twin) -> None:
    twin.api.remove(Key("nodes", "", f"{SPOT}-node"))


def _node(pool: str) -> Raw:
    return gpu_node(f"{pool}-node", GPU_TYPE, GPUS, {"pool": pool})


def _outcome(run: Run, stays: Sequence[Stay], hours: int) -> Outcome:
    account, prices = run.account, {SPOT: SPOT_PRICE, ON_DEMAND: ON_DEMAND_PRICE}
    dollars = sum(
        stay.gpu_seconds / 3600 * prices[stay.node.removesuffix("-node")] for stay in stays
    )
    took = None if account.completed is None else account.completed - account.submitted
    return Outcome(dollars, late=took is None or took > hours * 3600)
