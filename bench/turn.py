"""What a turn of the operator's loop takes of the processor on a large cluster, by part.

    python bench/turn.py --nodes 10000 --jobs 5000 --changes 12 --json

The operator's own loop and writer on the twin of a cluster, with the timing of a real one: nodes of
8 GPUs in two pools, 50 power domains and three queues, and jobs of one GPU in ten namespaces. Once
all run, it is left alone for a minute; then follow changes of each kind, ten seconds apart: a job
arrives, a job's pod ends, a job is deleted, a node is lost, the price of a pool changes; at last a
hundred jobs are replaced each second. Reported are the CPU seconds of turns: their mean, and by
part (`plimsoll_loop_cpu_seconds_total`); searches for plans are counted apart. Prints one JSON
object. `--profile FILE` keeps what Python's profiler sees of the time at rest and of each kind.
"""

import argparse
import asyncio
import cProfile
import itertools
import resource
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from prometheus_client import REGISTRY

from plimsoll.control.loop_terms import LoopTerms
from plimsoll.control.turn_cost import TurnPart
from plimsoll.vocabulary.logs import only_errors
from plimsoll_bench.output import print_json
from plimsoll_simulator.cluster.api_server import Key
from plimsoll_simulator.cluster.nodes import gpu_node
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.twin import Twin, TwinTerms, lived

ROWS = 50
GPU, GPUS_PER_NODE = "NVIDIA-H100-80GB-HBM3", 8
POOLS, QUEUES, NAMESPACES = 2, 3, 10
POWER = {"idleWatts": 100, "typicalWatts": 500, "limitWatts": 700, "minCapWatts": 200}
APART_SECONDS = 10.0
REST_SECONDS = 60.0
QUIET_SECONDS = 30.0
_JOBS = "trainingjobs"


@dataclass(frozen=True, slots=True)
class Phase:
    """CPU seconds of some turns: a mean turn, by part, and what searches took meanwhile."""

    turns: int = 0
    turn_s: float = 0.0
    parts_s: Mapping[str, float] = field(default_factory=dict[str, float])
    plans: int = 0
    plan_s: float = 0.0
    requests: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """What was used so far."""

    turns: int
    parts: Mapping[str, float]
    plans: int
    plan_seconds: float
    requests: int


def reading(twin: Twin) -> Reading:
    """What the twin's operator has used so far."""
    value = REGISTRY.get_sample_value
    parts = {
        str(part): value("plimsoll_loop_cpu_seconds_total", {"part": part}) or 0.0
        for part in TurnPart
    }
    turns = int(value("plimsoll_loop_seconds_count") or 0)
    plans = twin.solver.seconds
    return Reading(turns, parts, len(plans), sum(plans), twin.api.requests)


def phase(before: Reading, now: Reading) -> Phase:
    """What was used from one reading to the other."""
    turns = now.turns - before.turns
    parts = {part: now.parts[part] - before.parts[part] for part in now.parts}
    each = {part: round(took / max(1, turns), 5) for part, took in parts.items() if took}
    return Phase(
        turns,
        round(sum(parts.values()) / max(1, turns), 5),
        dict(sorted(each.items(), key=lambda pair: -pair[1])),
        now.plans - before.plans,
        round((now.plan_seconds - before.plan_seconds) / max(1, now.plans - before.plans), 4),
        now.requests - before.requests,
    )


def node(number: int) -> Raw:
    """A node of a pool and a row."""
    labels = {"pool": f"pool-{number % POOLS}", "row": f"row-{number % ROWS}"}
    return gpu_node(f"node-{number:05}", GPU, GPUS_PER_NODE, labels)


def job(number: int, *, plain: bool) -> Raw:
    """A job of one worker with one GPU; a plain one is in no queue."""
    queue = {} if plain else {"queue": f"queue-{number % QUEUES}"}
    container = {"name": "main", "image": "train", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container]}}
    return {
        "kind": "TrainingJob",
        "metadata": {"name": name_of(number), "namespace": f"team-{number % NAMESPACES}"},
        "spec": {
            **queue,
            "workers": {"min": 1, "gpusPerWorker": 1, "template": template},
            "accelerators": [{"type": GPU, "throughput": [{"workers": 1, "rate": 1}]}],
        },
    }


def name_of(number: int) -> str:
    """The name of a job."""
    return f"job-{number:06}"


def key_of(number: int) -> Key:
    """Where a job is stored."""
    return Key(_JOBS, f"team-{number % NAMESPACES}", name_of(number))


def rules(nodes: int) -> Iterator[Raw]:
    """The pools, power domains and queues; nothing of them is scarce."""
    for number in range(POOLS):
        spec = {
            "nodeSelector": {"pool": f"pool-{number}"},
            "power": POWER,
            "pricePerGPUHour": "2.5",
        }
        yield {"kind": "GPUPool", "metadata": {"name": f"pool-{number}"}, "spec": spec}
    watts = 2 * nodes * GPUS_PER_NODE * POWER["limitWatts"] // ROWS
    for number in range(ROWS):
        spec = {"nodeSelector": {"row": f"row-{number}"}, "budgetWatts": watts}
        yield {"kind": "PowerDomain", "metadata": {"name": f"row-{number}"}, "spec": spec}
    for number in range(QUEUES):
        yield {"kind": "JobQueue", "metadata": {"name": f"queue-{number}"}, "spec": {}}


class Bench:
    """One cluster, and what is done to it."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.phases: dict[str, Phase] = {}
        self._next = itertools.count(arguments.jobs)
        self._oldest = itertools.count()
        self._nodes = itertools.count()
        self._prices = itertools.count(3)

    def job(self, number: int) -> Raw:
        """A job of one worker with one GPU."""
        return job(number, plain=self.arguments.plain)

    async def story(self, twin: Twin) -> None:
        """All that happens."""
        for number in range(self.arguments.nodes):
            twin.apply(node(number))
        for each in () if self.arguments.plain else rules(self.arguments.nodes):
            twin.apply(each)
        for number in range(self.arguments.jobs):
            twin.apply(self.job(number))
        changes: Mapping[str, Callable[[Twin], object]] = {
            "arrival": lambda twin: twin.apply(self.job(next(self._next))),
            "end": self.end_one,
            "deletion": lambda twin: twin.api.delete(key_of(next(self._oldest))),
            "lost_node": lambda twin: twin.api.delete(Key("nodes", "", self.used_node(twin))),
            **({} if self.arguments.plain else {"price": self.other_price}),
        }
        await self.measured("start", twin, self.all_run(twin))
        await self.measured("rest", twin, asyncio.sleep(REST_SECONDS))
        for kind, change in changes.items():
            if self.arguments.only is None or kind in self.arguments.only:
                await self.measured(kind, twin, self.repeated(twin, change))
        await self.measured("churn", twin, self.churn(twin))

    async def measured(self, name: str, twin: Twin, done: Coroutine[Any, Any, None]) -> None:
        """What turns take until something is done."""
        folder = self.arguments.profile
        before, profile = reading(twin), cProfile.Profile() if folder else None
        with profile or nullcontext():
            await done
        if profile is not None:
            profile.dump_stats(folder / f"{name}.pstats")
        self.phases[name] = phase(before, reading(twin))

    async def all_run(self, twin: Twin) -> None:
        """Wait until all jobs run and nothing is written for a while."""
        written = -1
        while self.running(twin) < self.arguments.jobs or written != twin.api.requests:
            written = twin.api.requests
            await asyncio.sleep(QUIET_SECONDS)

    def running(self, twin: Twin) -> int:
        """How many pods run."""
        return Counter(pod["status"].get("phase") for pod in twin.api.all("pods"))["Running"]

    async def repeated(self, twin: Twin, change: Callable[[Twin], object]) -> None:
        """The same change some times, one after the other."""
        for _ in range(self.arguments.changes):
            change(twin)
            await asyncio.sleep(APART_SECONDS)

    def end_one(self, twin: Twin) -> None:
        """Have the pods of the oldest job end well."""
        number = next(self._oldest)
        name = f"{name_of(number)}-worker-0"
        twin.kubelets.finish(Key("pods", f"team-{number % NAMESPACES}", name))

    def used_node(self, twin: Twin) -> str:
        """The next node on which a pod runs."""
        used = {pod["spec"].get("nodeName") for pod in twin.api.all("pods")}
        names = (f"node-{number:05}" for number in self._nodes)
        return next(name for name in names if name in used)

    def other_price(self, twin: Twin) -> None:
        """Let the first pool cost something else."""
        price = {"pricePerGPUHour": str(next(self._prices))}

        def changed(pool: Raw) -> Raw:
            return {**pool, "spec": {**pool["spec"], **price}}

        twin.api.update(Key("gpupools", "", "pool-0"), changed)

    async def churn(self, twin: Twin) -> None:
        """Replace jobs each second: half are deleted, the others end."""
        for _ in range(self.arguments.changes):
            for number in range(self.arguments.replaced):
                if number % 2:
                    twin.api.delete(key_of(next(self._oldest)))
                else:
                    self.end_one(twin)
                twin.apply(self.job(next(self._next)))
            await asyncio.sleep(1)


def main() -> None:
    """Run it and print the figures."""
    parser = argparse.ArgumentParser(description="What does a turn take?")
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=5_000)
    parser.add_argument("--changes", type=int, default=12, help="of each kind")
    parser.add_argument("--replaced", type=int, default=50, help="jobs a second under churn")
    parser.add_argument("--plain", action="store_true", help="no pools, domains and queues")
    parser.add_argument("--only", nargs="*", help="the kinds of changes, if not all")
    parser.add_argument("--profile", type=Path, help="a folder for profiles; slows it down")
    parser.add_argument("--json", action="store_true", help="as all benchmarks print; the default")
    arguments = parser.parse_args()
    bench = Bench(arguments)
    with only_errors():
        lived(bench.story, TwinTerms(loop=LoopTerms()))
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = {name: asdict(each) for name, each in bench.phases.items()}
    sizes = {"nodes": arguments.nodes, "jobs": arguments.jobs}
    print_json({**sizes, **figures, "most_mib": round(mib, 1)}, indent=2)


if __name__ == "__main__":
    main()
