"""The twin's cloud: it rents out what NodeClaims require, and the operator lives on it."""

import asyncio
from dataclasses import replace

import pytest

from plimsoll.observe.nodes.orders import Way
from plimsoll_devcluster.gpu_models import H100
from plimsoll_simulator.cluster.api_server import Key
from plimsoll_simulator.cluster.nodes import SPOT_NOTICE
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.cluster.pods import holds
from plimsoll_simulator.cluster.provider import (
    CLAIMS,
    LAUNCH_SECONDS,
    NOTICE_SECONDS,
    Offering,
)
from plimsoll_simulator.twin import Story, Twin, TwinTerms, lived
from support.clusters.twin_jobs import HOUR, begin, submit
from support.objects.bought_nodes import LABEL, NODE_CLASS

ZONE = "topology.kubernetes.io/zone"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
BOOT_SECONDS = 200.0
TERMS = TwinTerms()
BUYS = replace(TERMS, loop=replace(TERMS.loop, ways=frozenset({Way.NODE_CLAIM})))


async def _nobody(_: Twin) -> None:
    await asyncio.Event().wait()


def alone(story: Story) -> Twin:
    """A twin without an operator."""
    return lived(story, TwinTerms(operate=_nobody))


def an_offering(name: str, *, zone: str = "a", dollars: float = 10.0) -> Offering:
    labels = {ZONE: zone, CAPACITY_TYPE: "on-demand"}
    return Offering(name, labels, H100, 8, dollars, BOOT_SECONDS)


def a_claim(name: str, zone: str = "a") -> Raw:
    requirement = {"key": ZONE, "operator": "In", "values": [zone]}
    return {
        "metadata": {"name": name, "labels": {LABEL: "h100"}},
        "spec": {"nodeClassRef": NODE_CLASS, "requirements": [requirement]},
    }


def claim(twin: Twin, name: str) -> Raw | None:
    return twin.api.find(Key(CLAIMS, "", name))


def test_a_claim_gets_the_cheapest_node_that_it_requires_once_that_has_booted() -> None:
    async def story(twin: Twin) -> None:
        twin.provider.offer(an_offering("dear", dollars=20), 1)
        twin.provider.offer(an_offering("cheap"), 1)
        twin.provider.offer(an_offering("elsewhere", zone="b", dollars=1), 1)
        twin.api.create(CLAIMS, a_claim("one"))
        await asyncio.sleep(LAUNCH_SECONDS + BOOT_SECONDS - 1)
        assert holds(twin.api.read(Key(CLAIMS, "", "one")), "Launched")
        assert twin.api.find(Key("nodes", "", "one")) is None
        await asyncio.sleep(2)

    twin = alone(story)
    [rental] = twin.provider.rentals()
    assert (rental.offering.name, rental.ready) == ("cheap", LAUNCH_SECONDS + BOOT_SECONDS)
    found, node = twin.api.read(Key(CLAIMS, "", "one")), twin.api.read(Key("nodes", "", "one"))
    assert found["status"]["nodeName"] == "one"
    assert all(holds(found, each) for each in ("Launched", "Registered", "Initialized"))
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert node["metadata"]["labels"].items() >= {LABEL: "h100", ZONE: "a"}.items()
    assert node["spec"]["taints"] == []


def test_a_claim_for_which_there_is_no_capacity_is_deleted() -> None:
    async def story(twin: Twin) -> None:
        twin.provider.offer(an_offering("only"), 1)
        for name, zone in (("one", "a"), ("two", "a"), ("three", "b")):
            twin.api.create(CLAIMS, a_claim(name, zone))
        await asyncio.sleep(LAUNCH_SECONDS + 1)

    twin = alone(story)
    assert [each["metadata"]["name"] for each in twin.api.all(CLAIMS)] == ["one"]
    assert not twin.provider.has("only")


@pytest.mark.slow
def test_a_node_is_paid_for_from_its_launch_until_it_is_drained() -> None:
    async def story(twin: Twin) -> None:
        begin(twin)
        twin.provider.offer(an_offering("only"), 1)
        twin.api.create(CLAIMS, a_claim("one"))
        run = submit(twin, "job", gpus=8, hours=2)
        await asyncio.sleep(HOUR)
        assert run.gang is not None
        twin.api.delete(Key(CLAIMS, "", "one"))
        await asyncio.sleep(1)
        taints = twin.api.read(Key("nodes", "", "one"))["spec"]["taints"]
        assert [taint["key"] for taint in taints] == ["karpenter.sh/disrupted"]
        await asyncio.sleep(60)
        assert twin.api.find(Key("nodes", "", "one")) is claim(twin, "one") is None

    twin = lived(story)
    [rental] = twin.provider.rentals()
    assert HOUR < (rental.ends or 0.0) < HOUR + 45
    assert rental.dollars(2 * HOUR) == pytest.approx(10.0, rel=0.02)


def test_spot_that_is_withdrawn_says_so_before_it_goes() -> None:
    async def story(twin: Twin) -> None:
        twin.provider.offer(an_offering("spot"), 1)
        twin.api.create(CLAIMS, a_claim("one"))
        await asyncio.sleep(300)
        twin.provider.withdraw("spot")
        twin.api.create(CLAIMS, a_claim("late"))
        await asyncio.sleep(NOTICE_SECONDS - 1)
        assert twin.api.read(Key("nodes", "", "one"))["spec"]["taints"] == [SPOT_NOTICE]
        assert claim(twin, "late") is None
        await asyncio.sleep(2)
        assert twin.api.find(Key("nodes", "", "one")) is claim(twin, "one") is None

    [rental] = alone(story).provider.rentals()
    assert rental.ends == 300 + NOTICE_SECONDS


def test_the_operator_buys_a_node_for_a_job_and_gives_it_back() -> None:
    async def story(twin: Twin) -> None:
        begin(twin)
        twin.provider.offer(an_offering("only"), 1)
        claims = {"spec": {"nodeClassRef": NODE_CLASS}}
        spec = {
            "nodeSelector": {LABEL: "h100"},
            "gpuType": H100,
            "gpusPerNode": 8,
            "pricePerGPUHour": "1.25",
            "provisioning": {"max": 2, "startTime": "3m", "nodeClaim": claims},
        }
        twin.apply({"kind": "GPUPool", "metadata": {"name": "h100"}, "spec": spec})
        submit(twin, "job", gpus=8, hours=1)
        await asyncio.sleep(2 * HOUR)

    twin = lived(story, BUYS)
    [run] = twin.training.runs.values()
    assert run.account.completed is not None
    [rental] = twin.provider.rentals()
    assert rental.ends is not None
    assert run.account.completed < rental.ends < run.account.completed + 0.25 * HOUR
    assert [*twin.api.all(CLAIMS)] == [*twin.api.all("nodes")] == []
