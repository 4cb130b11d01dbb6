"""Whatever single fields say, the loop takes its turns, and commands answer."""

import asyncio
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.api.values.quantities import parse_quantity
from plimsoll.cli import main
from plimsoll.errors import InvalidQuantity
from plimsoll.observe.nodes.orders import Way
from plimsoll.vocabulary import metrics
from plimsoll_devcluster.gpu_models import A100, H100, T4
from plimsoll_devcluster.manifest import Manifest, manifests_in
from plimsoll_simulator.cluster.api_server import Key
from plimsoll_simulator.cluster.nodes import gpu_node
from plimsoll_simulator.twin import TYPE_OF, Twin, TwinTerms, lived
from support.objects.bought_nodes import a_growing_pool
from support.objects.changed_fields import PARTS, changed
from support.objects.job_manifests import a_policy, a_pool, a_training_job, an_inference_job

EXAMPLES = Path(__file__).parents[3] / "examples"
MANIFESTS = {
    file.name: manifests_in(file.read_text())
    for folder in ("jobs", "scaling", "targets", "workloads")
    for file in sorted((EXAMPLES / folder).glob("*.yaml"))
}
CLUSTER = EXAMPLES / "cluster.yaml"
URGENT = EXAMPLES / "jobs" / "train-urgent.yaml"
KINDS = (*TYPE_OF, "trainingjobs", "inferencejobs", "gpupools", "placementpolicies")
PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
CHANGES, SETTLED_SECONDS = 6, 120
TERMS = TwinTerms(
    loop=replace(TwinTerms().loop, cluster_status_seconds=30.0, ways=frozenset({Way.NODE_CLAIM}))
)
"""As the twin usually has them, but statuses are written more often, and nodes bought."""


def begin(twin: Twin) -> None:
    """Nodes of several types, some on spot, and jobs that run, grow, wait and serve."""
    twin.apply({"kind": "Namespace", "metadata": {"name": "team"}})
    twin.apply(a_policy(purchasing={"mostPerHour": "500"}))
    twin.apply(a_pool("spot", {"terms": "spot"}, capacityType="Spot", pricePerGPUHour="3"))
    twin.apply(a_growing_pool("h100", provisioning={"startTime": "2m"}))
    for number in range(3):
        twin.apply(gpu_node(f"node-{number}", H100, 8))
    twin.apply(gpu_node("spot", H100, 8, {"terms": "spot"}))
    twin.apply(gpu_node("older", A100, 8))
    twin.apply(gpu_node("small", T4, 2))
    rates: dict[str, Any] = {H100: {1: 1, 2: "1.8", 4: "3.1"}, A100: {1: "0.5"}}
    deadline = {"amount": "3000", "deadline": "2026-01-01T02:00:00Z"}
    for job in (
        a_training_job("fixed", workers=2, gpus=4),
        a_training_job("elastic", workers=(1, 4), gpus=2, rates=rates, work={"amount": "5000"}),
        a_training_job("spot", gpus=8, spot={"allowed": True}, rates={H100: 1}),
        a_training_job("soon", rates={H100: 1, T4: "0.2"}, work=deadline),
        a_training_job("large", workers=3, gpus=8, rates={H100: 1}),
        an_inference_job("serves", loads={H100: 10}, role={"replicas": {"min": 1, "max": 3}}),
    ):
        job["metadata"]["namespace"] = "team"
        twin.apply(job)


def is_legal(plural: str, raw: Manifest) -> bool:
    """Whether the API server would take it: its types are right, and so are quantities."""
    try:
        msgspec.convert(raw, TYPE_OF[plural])
        for amount in raw["status"].get("allocatable", {}).values() if plural == "nodes" else ():
            parse_quantity(amount)
    except (msgspec.ValidationError, InvalidQuantity):
        return False
    return plural != "pods" or raw["status"].get("phase") in PHASES


def change_one(twin: Twin, rng: Random) -> None:
    """Write something else into an object; types that the API server checks are kept.

    Of pods only the status: the twin's own kubelets go by the rest.
    """
    plural = rng.choice(KINDS)
    there = [*twin.api.all(plural)]
    if not there:
        return
    old = rng.choice(there)
    parts = ("status",) if plural == "pods" else PARTS
    new = changed(rng, old, parts, keeps_types=plural in TYPE_OF)
    if plural in TYPE_OF and not is_legal(plural, new):
        return
    meta = old["metadata"]
    key = Key(plural, meta.get("namespace", ""), meta["name"])
    others = {**{name: meta[name] for name in new["metadata"] if name in meta}, **new["metadata"]}
    others["generation"] = meta["generation"] + (new.get("spec") != old.get("spec"))
    twin.api.update(key, lambda _: {**new, "metadata": others})
    twin.api.update(key, lambda there: {**there, "status": new.get("status", {})}, only="status")


def errors() -> float:
    """How many turns have failed so far."""
    (found,) = metrics.LOOP_ERRORS.collect()
    return found.samples[0].value


@pytest.mark.slow
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32))
def test_no_object_stops_the_loop(seed: int) -> None:
    rng, before = Random(seed), errors()

    async def story(twin: Twin) -> None:
        begin(twin)
        await asyncio.sleep(120)
        assert any(pod["status"]["phase"] == "Running" for pod in twin.api.all("pods"))
        for _ in range(CHANGES):
            change_one(twin, rng)
            await asyncio.sleep(rng.choice((10, 60)))
        await asyncio.sleep(SETTLED_SECONDS)

    lived(story, TERMS)
    assert errors() == before


def answer(*arguments: str) -> tuple[int, str]:
    """How a command ends, and all that it says."""
    said = StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        status = main([*arguments])
    return status, said.getvalue()


@given(seed=st.integers(0, 2**32))
def test_commands_answer_whatever_manifests_say(seed: int) -> None:
    """What is wrong is the file's: exit status 2, and where."""
    rng = Random(seed)
    name = rng.choice([*MANIFESTS])
    changes = [changed(rng, each, keeps_types=rng.random() < 0.5) for each in MANIFESTS[name]]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_text(yaml.safe_dump_all(changes))
        status, said = answer("simulate", "-f", str(file), "--cluster", str(CLUSTER))
        assert status == 0 or (status == 2 and str(file) in said), said
        (Path(folder) / "cluster.yaml").write_text(CLUSTER.read_text())
        status, said = answer("simulate", "-f", str(URGENT), "--cluster", folder)
        assert status == 0 or (status == 2 and str(file) in said), said
