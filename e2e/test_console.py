"""The console in a real cluster: what a user of one namespace sees of it, and its ledger's life.

All tests share one installation, and two tenants' jobs, which they leave as they are.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from harness.commands import run
from harness.confinement import NOBODY, seen_from_within
from harness.deployed_console import PLUGINS, DeployedConsole, Page, opened_page, started
from harness.deployed_operator import DeployedOperator
from harness.gpu_nodes import borrowed
from harness.ledger_volume import ledger_volume
from harness.real_cluster import PATIENCE_SECONDS, RealCluster
from harness.release import NAMESPACE, Release
from harness.scenes import open_scene
from harness.stand_ins import template
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.service_accounts import (
    CLUSTER,
    RBAC,
    add_account,
    remove_cluster_rights,
    with_token,
)
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import Scene
from support.objects.job_manifests import a_training_job

VALUES = {
    "console.enabled": "true",
    "console.ledger.enabled": "true",
    "console.env[0].name": "PLIMSOLL_CONSOLE_LEDGER_WRITE_SECONDS",
    "console.env[0].value": "2.0",  # Helm would take 2 for a number, which no variable may be
}
OTHERS_JOB = "hushed-merger"
GPUS = 2  # of each of the two nodes
USER = "console-user"
NEVER = "1970-01-01T00:00:00Z"
VIEWS = ("cluster", "map", "queue", "queues", "jobs", "power", "history", "me")
USAGE = "usage?since=1d&by=namespace,user,job"

pytestmark = pytest.mark.usefixtures("operator")


@dataclass(frozen=True, slots=True)
class Tenants:
    """A user of one namespace, whose job holds a node and another waits; others hold the rest."""

    ours: Scene
    kubeconfig: Path
    node: str
    hidden: tuple[str, ...]
    """Names that the user may not see."""


@pytest.fixture(scope="module")
def console(cluster: RealCluster, release: Release) -> Iterator[DeployedConsole]:
    """The console, which nothing may go wrong in unseen."""
    with ledger_volume(cluster) as storage_class:
        release.install({**VALUES, "console.ledger.storageClassName": storage_class})
        console = DeployedConsole(cluster)
        yield console
        complaints = console.complaints()
        release.install()
    assert not complaints


@pytest.fixture(scope="module")
def tenants(
    console: DeployedConsole,
    cluster: RealCluster,
    nodes: tuple[str, str],
    image: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Tenants]:
    console.ready_pod()
    DeployedOperator(cluster.api).leader()
    with (
        borrowed(cluster.api, nodes) as gpu_nodes,
        open_scene(cluster.api) as ours,
        open_scene(cluster.api) as others,
    ):
        gpu_nodes.offer(GPUS, GPUS)
        merger = a_training_job(OTHERS_JOB, gpus=GPUS, template=template(image))
        others.apply(merger)
        (theirs,) = others.running(merger).nodes
        kubeconfig = tmp_path_factory.mktemp("user") / "kubeconfig"
        with_token(cluster.kubeconfig, a_user(ours), kubeconfig)
        mine = Scene(ApiServer(kubeconfig), ours.namespace, patience_seconds=PATIENCE_SECONDS)
        train = a_training_job("train", gpus=GPUS, template=template(image))
        mine.apply(train)
        (node,) = mine.running(train).nodes
        later = a_training_job("later", gpus=1, template=template(image))
        mine.apply(later)
        mine.until(later, reason="InsufficientGPUs")
        yield Tenants(mine, kubeconfig, node, (OTHERS_JOB, others.namespace, theirs))
        remove_cluster_rights(cluster.api, USER)
        cluster.api.delete(f"{CLUSTER}/namespaces/{NAMESPACE}/rolebindings/{USER}")
        cluster.api.delete(f"{CLUSTER}/namespaces/{NAMESPACE}/roles/{USER}")


def a_user(scene: Scene) -> str:
    """Who may edit a namespace and reach the console, as docs/guides/console.md says; a token."""
    api, system = scene.api, f"{CLUSTER}/namespaces/{NAMESPACE}"
    token = add_account(api, USER, scene.namespace, cluster_rules=[], own_rules=[])
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get", "create"]},
    ]
    api.create(f"{system}/roles", {"metadata": {"name": USER}, "rules": rules})
    api.create(f"{system}/rolebindings", bound(scene, "Role", USER))
    own = f"{CLUSTER}/namespaces/{scene.namespace}/rolebindings"
    api.create(own, bound(scene, "ClusterRole", "edit"))
    return token


def bound(scene: Scene, kind: str, role: str) -> Manifest:
    """A binding of the user to a role, with the role's name."""
    return {
        "metadata": {"name": role},
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": USER, "namespace": scene.namespace}],
    }


@pytest.fixture
def page(tenants: Tenants) -> Iterator[Page]:
    """The page, opened by the user."""
    with opened_page(tenants.kubeconfig) as page:
        yield page


def seen(page: Page, path: str) -> Any:  # noqa: ANN401 - any JSON
    status, found = page.get(path)
    assert status == 200, (status, found)
    return found


def test_it_runs_as_nobody_and_writes_nowhere_but_in_its_ledger(
    cluster: RealCluster, console: DeployedConsole
) -> None:
    pod = console.ready_pod()
    assert seen_from_within(cluster, pod) == NOBODY
    (container,) = pod["status"]["containerStatuses"]
    assert container["restartCount"] == 0


def test_the_page_is_reached_through_the_api_server_with_all_that_it_loads(page: Page) -> None:
    index = page.text("")
    files = re.findall(r'(?:href|src)="([^"]+)"', index)
    assert "app/main.js" in files
    assert all(page.text(file) for file in files)


def test_a_user_sees_their_jobs_and_how_much_others_take(tenants: Tenants, page: Page) -> None:
    line = seen(page, "queue")
    assert [job["key"]["name"] for job in line["jobs"]] == ["later"]
    drawn = seen(page, "map")
    assert [job["key"]["name"] for job in drawn["jobs"]] == ["train"]
    nodes = [node for group in drawn["groups"] for node in group["nodes"]]
    assert {node["name"] for node in nodes} == {tenants.node, None}
    held = [each for node in nodes for cell in node["cells"] for each in cell["holdings"]]
    assert sorted(each["by"] for each in held) == ["job"] * GPUS + ["taken"] * GPUS
    job = {"kind": "TrainingJob", "namespace": tenants.ours.namespace, "name": "later"}
    status, answer = page.post("explain", **job)
    assert status == 200, answer
    assert answer["hidden"] >= 0
    text = json.dumps([line, drawn, answer, *(seen(page, view) for view in VIEWS)])
    assert [name for name in tenants.hidden if re.search(rf"{name}\b", text)] == []


def test_who_has_no_valid_token_learns_nothing(page: Page) -> None:
    forged = replace(page, token=f"{page.token}x")
    for path in (*VIEWS, USAGE):
        status, said = forged.get(path)
        assert (status, list(said)) == (401, ["problems"])


@dataclass(frozen=True, slots=True)
class Report:
    """What was accounted for until a time: the time of all nodes, and all that a user can read."""

    until: datetime
    gpu_hours: float
    text: str


def accounted(page: Page, keys: Manifest, *, later_than: datetime) -> Report:
    """The report that reaches beyond a time, with time of those keys."""

    def found() -> Report | None:
        status, answer = page.get(USAGE)
        if status == 503:  # the tables are being made
            return None
        assert status == 200, answer
        until = datetime.fromisoformat(answer["accountedUntil"] or NEVER)
        used = [row["keys"] for row in answer["rows"] if row["gpuHours"]]
        if until <= later_than or keys not in used:
            return None
        uses = [row["gpuHoursByUse"] for row in answer["rows"]]
        hours = sum(of[use] for of in uses for use in of if use != "waiting")
        return Report(until, hours, json.dumps(answer))

    report = wait_until(found, timeout_seconds=PATIENCE_SECONDS, what=f"{keys} is accounted for")
    assert report is not None
    return report


def usage_in_a_terminal(tenants: Tenants) -> str:
    where = (f"--console-namespace={NAMESPACE}", f"--kubeconfig={tenants.kubeconfig}")
    command = ("kubectl", "plimsoll", "usage", "--by=job", "--output=csv")
    return run(*command, *where, environment=PLUGINS)


def test_the_ledger_says_who_used_what_and_goes_on_where_the_console_was_killed(
    tenants: Tenants, page: Page, console: DeployedConsole
) -> None:
    namespace = tenants.ours.namespace
    keys = {
        "namespace": namespace,
        "user": f"system:serviceaccount:{namespace}:{USER}",
        "job": f"TrainingJob/{namespace}/train",
    }
    before = accounted(page, keys, later_than=datetime.fromisoformat(NEVER))
    assert console.complaints() == []
    restarted = started(console.crash())
    with opened_page(tenants.kubeconfig) as again:
        after = accounted(again, keys, later_than=restarted)
    printed = usage_in_a_terminal(tenants)
    assert f"{keys['job']}," in printed
    for text in (before.text, after.text, printed):
        assert [name for name in tenants.hidden if re.search(rf"{name}\b", text)] == []
    # All nodes' time, once. Reports give the time that they reach to in whole seconds.
    seconds = (after.until - before.until).total_seconds()
    used_seconds = (after.gpu_hours - before.gpu_hours) * 3600
    assert abs(used_seconds - 2 * GPUS * seconds) < 2 * GPUS
