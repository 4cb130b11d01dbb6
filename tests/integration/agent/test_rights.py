"""What the agents' ServiceAccount may do: what agents do, each on its own Node, nothing else."""

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll.kube.http.credentials import endpoint
from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import NODES, add_nodes, fake_node
from plimsoll_devcluster.processes.credentials import write_secret
from plimsoll_devcluster.proxies.faulty_proxy import FaultyProxy
from plimsoll_devcluster.waiting import wait_until
from support.programs.agent_process import (
    CLUSTER_RULES,
    OWN_RULES,
    AgentAccount,
    AgentProcess,
    Operator,
    agent_account,
)
from support.programs.asynchronous import asynchronous, until
from support.programs.nvml_gpus import FakeGpus
from support.project.rights import granted, needed

OWN, OTHER = "own-node", "other-node"
LIMITS = "plimsoll.dev/power-limit-watts"
PROBLEM = "plimsoll.dev/power-limit-problem"
FORBIDDEN = 403
EFFECT_SECONDS = 30


@pytest.fixture
def account(control_plane: Cluster, api: ApiServer, namespace: str) -> Iterator[AgentAccount]:
    """Two nodes, and who agents on them are; the policy has taken effect."""
    add_nodes(api, [fake_node(OWN), fake_node(OTHER)])
    with agent_account(control_plane, namespace) as found:
        yield found


@pytest.fixture
def asking(account: AgentAccount, tmp_path: Path) -> ApiServer:
    """A connection as an agent on the node OWN has it."""
    found = connection(account, account.token_on(OWN), tmp_path / "own")
    wait_until(
        lambda: refusal(found, OWN, {"metadata": {"labels": {"probe": secrets.token_hex(4)}}}),
        timeout_seconds=EFFECT_SECONDS,
        what="the policy is in force",
    )
    return found


def connection(account: AgentAccount, token: str, path: Path) -> ApiServer:
    config: dict[str, Any] = yaml.safe_load(account.cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    return ApiServer(write_secret(path, yaml.safe_dump(config)))


def refusal(api: ApiServer, node: str, patch: dict[str, Any], subresource: str = "") -> str:
    """Why a Node may not be patched so; "" where it was."""
    try:
        api.merge(f"{NODES}/{node}{subresource}", patch)
    except ApiServerRefusedError as error:
        if error.status != FORBIDDEN:
            raise
        return str(error)
    return ""


def annotations(**values: str | None) -> dict[str, Any]:
    """A patch of annotations of ours, by the last part of their names."""
    named = {f"plimsoll.dev/{name.replace('_', '-')}": value for name, value in values.items()}
    return {"metadata": {"annotations": named}}


def test_an_agent_may_report_the_limits_of_its_own_node(asking: ApiServer) -> None:
    both = annotations(power_limit_watts="300,300", power_limit_problem="GPU 0: lost")
    assert not refusal(asking, OWN, both)
    assert not refusal(asking, OWN, annotations(power_limit_watts="700", power_limit_problem=None))
    assert asking.items(f"{NODES}?fieldSelector=metadata.name={OWN}")


def test_an_agent_may_not_touch_the_node_of_another(asking: ApiServer) -> None:
    message = refusal(asking, OTHER, annotations(power_limit_watts="300"))
    assert "an agent may change only the Node that it runs on" in message


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (annotations(power_cap_watts="700"), "only the annotations"),
        ({"metadata": {"annotations": {"kwok.x-k8s.io/node": None}}}, "only the annotations"),
        ({"metadata": {"annotations": {"kwok.x-k8s.io/node": "mine"}}}, "only the annotations"),
        ({"metadata": {"labels": {"nvidia.com/gpu.product": "none"}}}, "nothing but annotations"),
        ({"metadata": {"finalizers": ["example.com/mine"]}}, "nothing but annotations"),
        ({"spec": {"unschedulable": True}}, "nothing but annotations"),
        ({"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}, "nothing but annotations"),
    ],
    ids=["wish", "removed", "changed", "label", "finalizer", "cordon", "taint"],
)
def test_an_agent_may_change_nothing_else_of_its_own_node(
    asking: ApiServer, patch: dict[str, Any], why: str
) -> None:
    assert why in refusal(asking, OWN, patch)


def test_an_agent_may_not_change_what_its_node_offers(asking: ApiServer) -> None:
    assert refusal(asking, OWN, {"status": {"capacity": {"a/b": "1"}}}, "/status")


def test_a_token_that_is_bound_to_no_pod_changes_no_node(
    account: AgentAccount, asking: ApiServer, tmp_path: Path
) -> None:
    assert asking
    nobody = connection(account, account.token_of_no_pod(), tmp_path / "nobody")
    message = refusal(nobody, OWN, annotations(power_limit_watts="300"))
    assert "an agent may change only the Node that it runs on" in message


def test_others_are_not_hindered(asking: ApiServer, api: ApiServer) -> None:
    assert asking
    assert not refusal(api, OWN, annotations(power_cap_watts="300"))
    assert not refusal(api, OTHER, {"spec": {"unschedulable": True}})


@asynchronous
async def test_the_agent_has_just_the_rights_that_it_uses(
    account: AgentAccount,
    control_plane: Cluster,
    gpus: FakeGpus,
    operator_lease: Operator,
    tmp_path: Path,
) -> None:
    assert operator_lease
    proxy = FaultyProxy(endpoint(control_plane.kubeconfig))
    given = granted([*CLUSTER_RULES, *OWN_RULES])
    async with proxy.running() as door:
        environment = {**gpus.environment, "PLIMSOLL_AGENT_API_SERVER": door.server}
        agent = await asyncio.to_thread(AgentProcess, account, OWN, tmp_path, environment)
        try:
            await asyncio.to_thread(agent.start)
            with suppress(AssertionError):  # what is not used by then is reported below
                await until(lambda: given <= needed(proxy.requests))
        finally:
            await asyncio.to_thread(agent.kill)
    assert not proxy.forbidden
    assert needed(proxy.requests) == given
