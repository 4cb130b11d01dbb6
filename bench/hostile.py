"""Whether nonsensical objects harm anything but themselves.

    python bench/hostile.py --objects 20000 --seed 1 --json

Runs of `--beside` jobs of one tenant and some corrupted ones of another
(`plimsoll_bench/hostile/objects.py`) go through everything that the operator computes in some turns
(`plimsoll_bench/hostile/turns.py`), and the same jobs once without the corrupted ones. The two
tenants' jobs ask for different GPU types, so that neither can rightfully take anything from the
other. Some corrupted jobs already run, under a spec that was sensible, and some workers' reports
are nonsensical as well.

Prints one JSON object: `objects`; `escaped`, exceptions that reached the turn; `silent`, corrupted
objects that neither got a place nor say why; `others_changed`, runs in which the sensible jobs'
places differ from those without the corrupted ones. Beside them, how many corrupted objects could
not be read, were `held` as they are, or got a place after all. Exits with 1 if one of the three is
not 0.
"""

import argparse
import json
import logging
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

import msgspec
import structlog

from plimsoll.kube.objects.objects import Node, PriorityClass
from plimsoll.kube.objects.times import rfc3339
from plimsoll.observe.measured.reports import WorkerReport
from plimsoll_bench.hostile.objects import Fuzzer
from plimsoll_bench.hostile.turns import Cluster, Placements
from plimsoll_bench.output import print_json
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100, L4
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import JobName

NOW: Final = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SPOILED_IN_A_RUN: Final = 60
TURNS: Final = 2
API_VERSION: Final = "plimsoll.dev/v1alpha1"
NODES: Final = 6


@dataclass(slots=True)
class Tally:
    """What was seen so far."""

    objects: int = 0
    escaped: int = 0
    silent: int = 0
    others_changed: int = 0
    ends: Counter[str] = field(default_factory=Counter[str])
    examples: list[str] = field(default_factory=list[str])

    @property
    def is_well(self) -> bool:
        """Whether no harm was done."""
        return not (self.escaped or self.silent or self.others_changed)


def main() -> int:
    """Draw objects until there are enough, and print what became of them."""
    parser = argparse.ArgumentParser(description="What senseless objects cost others.")
    parser.add_argument("--objects", type=_positive, default=20_000)
    parser.add_argument("--beside", type=_positive, default=12, help="sensible jobs in each run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--effort", type=float, default=0.0, help="deterministic seconds of search in each plan"
    )
    parser.add_argument("--json", action="store_true", help="print only the JSON object")
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    tally, began, run = Tally(), time.monotonic(), 0
    while tally.objects < given.objects:
        many = min(SPOILED_IN_A_RUN, given.objects - tally.objects)
        _run(tally, Fuzzer(given.seed * 1_000_003 + run), many, given)
        run += 1
        if not given.json and run % 25 == 0:
            print(f"{tally.objects} objects, {tally}", file=sys.stderr)
    figures = {
        "objects": tally.objects,
        "escaped": tally.escaped,
        "silent": tally.silent,
        "others_changed": tally.others_changed,
        "runs": run,
        **{f"{end}": tally.ends[end] for end in ("unreadable", "held", "placed")},
        "examples": tally.examples[:5],
        "seconds": round(time.monotonic() - began, 1),
        "path": "operator",
    }
    print_json(figures)
    return 0 if tally.is_well else 1


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _run(tally: Tally, fuzzer: Fuzzer, many: int, given: argparse.Namespace) -> None:
    good = [
        _stored(_job(f"good-{n}", H100, gpus=1 + n % 4), n, "good") for n in range(given.beside)
    ]
    before = [_stored(_base(number), number, "bad") for number in range(0, many, 3)]
    spoiled = [
        _stored(fuzzer.spoiled(_base(number)), number, "bad", version=2) for number in range(many)
    ]
    alone, both = _cluster(given.effort), _cluster(given.effort)
    both.reports = tuple(_reports(fuzzer, many))
    expected = _turns(alone, tally, (good, ()))
    found = _turns(both, tally, ((*good, *before), spoiled))
    tally.objects += many
    if expected is None or found is None:
        return
    if _of_the_good(found) != _of_the_good(expected):
        tally.others_changed += 1
        tally.examples.append("others changed")
    for job in spoiled:
        _judge(tally, both, job, found)


def _turns(
    cluster: Cluster, tally: Tally, applied: Sequence[Sequence[Manifest]]
) -> Placements | None:
    """The plan once all of these are applied, each before some turns; None on failure."""
    placements: Placements = {}
    now = NOW
    for manifests in applied:
        cluster.apply(manifests)
        for _ in range(TURNS):
            now += timedelta(seconds=30)
            try:
                placements = cluster.turn(now)
            except Exception:  # noqa: BLE001 - this is what is counted
                tally.escaped += 1
                tally.examples.append(traceback.format_exc(limit=-3))
                return None
    return placements


def _of_the_good(placements: Placements) -> Placements:
    return {name: places for name, places in placements.items() if "/good/" in name}


def _judge(tally: Tally, cluster: Cluster, job: Manifest, found: Placements) -> None:
    meta = job["metadata"]
    name = JobName(f"{job['kind']}/{meta['namespace']}/{meta['name']}")
    status = cluster.said.get(name, {})
    if any(str(each) == name for each in cluster.resources.refused()):
        tally.ends["unreadable"] += 1
    elif found.get(name):
        tally.ends["placed"] += 1
    else:
        tally.ends["held"] += 1
    if not status.get("reason"):
        tally.silent += 1
        tally.examples.append(f"silent: {json.dumps(job['spec'])[:300]}")


def _cluster(effort: float) -> Cluster:
    fakes = [
        *(fake_node(f"good-{n}", gpus=8, gpu_type=H100) for n in range(NODES)),
        *(fake_node(f"bad-{n}", gpus=8, gpu_type=L4) for n in range(NODES)),
    ]
    nodes = tuple(msgspec.convert(node, Node) for node in fakes)
    urgent = msgspec.convert({"metadata": {"name": "high"}, "value": 1000}, PriorityClass)
    return Cluster(nodes, (urgent,), Effort(deterministic_seconds=effort))


def _stored(manifest: Manifest, number: int, namespace: str, *, version: int = 1) -> Manifest:
    """The object as the API server would show it."""
    name = manifest["metadata"]["name"]
    created = NOW - timedelta(hours=1) + timedelta(seconds=number)
    meta = {
        "name": name,
        "namespace": namespace,
        "uid": f"{namespace}-{name}",
        "resourceVersion": str(version),
        "generation": version,
        "creationTimestamp": rfc3339(created),
    }
    return {**manifest, "metadata": meta}


def _base(number: int) -> Manifest:
    """A sensible job, of each kind in turn, some with a deadline, batches, sizes or targets."""
    makers = (_job, _timed_job, _service, _sized_service)
    return makers[number % len(makers)](f"bad-{number}", L4)


def _template() -> Manifest:
    main = {
        "name": "main",
        "image": "registry.example.com/main:1",
        "env": [{"name": "A", "value": "1"}],
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
    }
    return {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [main]}}


def _job(name: str, gpu: str, *, gpus: int = 1) -> Manifest:
    spec = {
        "workers": {"min": 1, "max": 2, "gpusPerWorker": gpus, "template": _template()},
        "accelerators": [
            {"type": gpu, "throughput": [{"workers": 1, "rate": 10}, {"workers": 2, "rate": 18}]}
        ],
    }
    return {
        "apiVersion": API_VERSION, "kind": "TrainingJob", "metadata": {"name": name}, "spec": spec
    }  # fmt: skip


def _timed_job(name: str, gpu: str) -> Manifest:
    job = _job(name, gpu)
    job["spec"] |= {
        "work": {"amount": "100000", "unit": "steps", "deadline": "2026-11-23T00:00:00Z"},
        "spot": {"allowed": True},
        "checkpoint": {"interval": "10m", "saveSeconds": 10, "restoreSeconds": 20},
        "batch": {"size": 64, "allowed": [64, 128]},
        "disruption": {"minRuntime": "10m", "maxPerDay": 3},
    }
    return job


def _service(name: str, gpu: str) -> Manifest:
    role = {
        "name": "server",
        "gpusPerReplica": 1,
        "replicas": {"min": 1, "max": 2},
        "profiles": [{"type": gpu, "load": 10}],
        "template": _template(),
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "InferenceJob",
        "metadata": {"name": name},
        "spec": {"roles": [role]},
    }


def _sized_service(name: str, gpu: str) -> Manifest:
    job = _service(name, gpu)
    job["spec"] |= {
        "load": {
            "queries": [{"name": "Load", "query": "vector(3)"}],
            "forecast": {"quantile": 0.9},
        },
        "slo": {"latency": "2s"},
    }
    return job


def _reports(fuzzer: Fuzzer, many: int) -> Iterator[WorkerReport]:
    for number in range(0, many, 5):
        yield WorkerReport(
            pod=f"bad-{number}-worker-0",
            pod_uid=f"pod-{number}",
            job_uid=f"bad-bad-{number}",
            replica=0,
            revision=1,
            at=NOW,
            efficiency=fuzzer.number(),
            gradient_noise=fuzzer.number(),
            compute_seconds=fuzzer.number(),
            step_seconds=fuzzer.number(),
            done=Decimal(str(fuzzer.number())),
            rate=Decimal(str(fuzzer.number())),
        )


if __name__ == "__main__":
    sys.exit(main())
