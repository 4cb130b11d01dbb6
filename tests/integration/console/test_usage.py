"""Jobs of a running cluster are accounted for, and each reader sees what they may."""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.processes.console_process import ConsoleProcess
from plimsoll_devcluster.service_accounts import add_account, remove_cluster_rights
from plimsoll_devcluster.waiting import wait_until
from support.clusters.console_users import CLUSTER_OBJECTS, JOBS, NODES, Asking, MakeUser, a_gang
from support.clusters.scene import Scene
from support.clusters.tenants import beside
from support.objects.manifests import edited, gpu_pool, job_queue

pytestmark = pytest.mark.slow

SECONDS = 150
ALL = (JOBS, NODES, CLUSTER_OBJECTS)
SECRET = "secret-merger"
CONSOLE_ENVIRONMENT = {
    "PLIMSOLL_CONSOLE_LEDGER_URL": "sqlite:///{folder}/ledger.db",
    "PLIMSOLL_CONSOLE_LEDGER_GRAMS_PER_KWH": "400",
}


@pytest.fixture
def cluster(scene: Scene) -> Iterator[Mapping[str, Scene]]:
    """A job of ours, and one of others, each on a node of its own."""
    with beside(scene, "others") as others:
        scene.add_nodes(fake_node("node-1", gpus=2), fake_node("node-2", gpus=8))
        scene.apply(job_queue(), edited(gpu_pool(), {"spec.pricePerGPUHour": "2.5"}))
        ours, theirs = a_gang("train", workers=1, gpus=2), a_gang(SECRET, workers=1, gpus=8)
        for where, job in ((scene, ours), (others, theirs)):
            where.apply(job)
            where.running(job)
        yield {"ours": scene, "others": others}


def rows(user: Asking, by: str, *jobs: str) -> list[dict[str, Any]]:
    """The rows of a report, once it has hours of so many jobs."""

    def found() -> list[dict[str, Any]] | None:
        status, answer = user.get(f"usage?since=1d&by={by}")
        if status == 503:  # the tables are being made
            return None
        assert status == 200, answer
        told = answer["rows"]
        used = {row["keys"].get("job", "").rpartition("/")[2] for row in told if row["gpuHours"]}
        return told if used >= set(jobs) else None

    told = wait_until(found, timeout_seconds=SECONDS, what="the jobs are accounted for")
    assert told is not None
    return told


def test_each_reader_sees_what_they_may(cluster: Mapping[str, Scene], a_user: MakeUser) -> None:
    admin, own, nobody = a_user(ALL), a_user(here=[JOBS]), a_user()
    ours = cluster["ours"].namespace
    all_rows = rows(admin, "queue,namespace,job,pool", "train", SECRET)
    # What it asked for while it waited, at no place, is a row of its own if the ledger saw it.
    held = (row for row in all_rows if row["gpuHours"])
    mine = next(row for row in held if row["keys"]["job"].endswith("/train"))
    assert mine["keys"]["job"] == f"TrainingJob/{ours}/train"
    assert mine["keys"]["queue"] == "research"
    assert mine["dollars"] == pytest.approx(
        2.5 * sum(v for use, v in mine["gpuHoursByUse"].items() if use != "waiting"), rel=1e-3
    )
    assert mine["gramsCO2"] == pytest.approx(mine["kWh"] * 400, abs=1e-3)
    assert not any(row["remainder"] for row in all_rows)

    told = rows(own, "queue,namespace,job", "train")
    assert [row["remainder"] for row in told] == [False, True]
    assert told[1]["gpuHours"] > 0
    hidden = (SECRET, cluster["others"].namespace, "node-1", "node-2")
    paths = ["usage?since=1d&by=job,namespace,user"]
    for reader in (own, nobody):
        text = reader.all_text(*paths, "allocation?window=1d&aggregate=job&includeIdle=true")
        assert not [name for name in hidden if name in text]
    assert ours not in nobody.all_text(*paths)

    status, answer = admin.get("allocation?window=1d&aggregate=namespace&includeIdle=true")
    assert status == 200
    (found,) = answer["data"]
    assert {ours, cluster["others"].namespace} <= set(found)
    _check_text(admin)
    _check_errors(admin)


def _check_text(admin: Asking) -> None:
    for form, column in (("csv", "gpu_hours"), ("focus", "ConsumedQuantity")):
        text = admin.console.text(f"/api/v1/usage?since=1d&by=job&format={form}", admin.token)
        (first, *_) = csv.DictReader(io.StringIO(text))
        assert column in first


def _check_errors(admin: Asking) -> None:
    for path, error in (
        ("usage?by=colour", "by: there is no 'colour'"),
        ("usage?since=tomorrow", "since: 'tomorrow' is no time"),
        ("usage?format=xml", "format: there is no 'xml'"),
        ("allocation?window=never", "window: 'never' is no time"),
    ):
        status, said = admin.get(path)
        assert status == 400
        assert error in said["problems"][0]


def test_who_is_not_signed_in_learns_nothing(console: ConsoleProcess) -> None:
    for path in ("usage", "allocation"):
        assert console.get(f"/api/v1/{path}", "forged")[0] == 401


def test_the_page_says_since_when_the_ledger_cannot_be_written(
    control_plane: Cluster, api: ApiServer, namespace: str, tmp_path: Path
) -> None:
    environment = {"PLIMSOLL_CONSOLE_LEDGER_URL": f"sqlite:///{tmp_path}"}  # a folder
    name = f"reader-{namespace}"
    token = add_account(api, name, namespace, cluster_rules=[CLUSTER_OBJECTS], own_rules=[])
    with ConsoleProcess(control_plane.kubeconfig, environment) as process:
        wait_until(
            lambda: [
                each
                for each in process.get("/api/v1/cluster", token)[1]["problems"]
                if each.startswith("the ledger cannot be written since")
            ],
            timeout_seconds=SECONDS,
            what="the page says so",
        )
        assert process.probe("/readyz")[0] == 200
    remove_cluster_rights(api, name)
