"""Whoever may see only a part of a cluster gets an answer about that part."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import add_nodes, fake_node
from plimsoll_devcluster.service_accounts import add_account, remove_cluster_rights, with_token
from support.clusters.scene import GROUP
from support.objects.job_manifests import a_queue, a_training_job
from support.programs.cli_runs import Ran, run

READ = ["get", "list", "watch"]
JOBS = {"apiGroups": ["plimsoll.dev"], "resources": ["trainingjobs", "inferencejobs"]}


class User:
    """Somebody with rights to the jobs of one namespace, and no other."""

    def __init__(self, kubeconfig: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._kubeconfig, self._capsys = kubeconfig, capsys

    def run(self, *arguments: str) -> Ran:
        return run(self._capsys, *arguments, "--kubeconfig", str(self._kubeconfig))

    def answer(self, *arguments: str) -> tuple[dict[str, Any], str]:
        """The answer as JSON, and what is said to be missing."""
        ran = self.run(*arguments, "-o", "json")
        assert ran.status == 0, ran.err
        return json.loads(ran.out), ran.err


@pytest.fixture
def user(
    control_plane: Cluster,
    api: ApiServer,
    namespace: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[User]:
    """A user of a cluster with a node, a queue, a job of their own and one of somebody else."""
    add_nodes(api, [fake_node("secret-node")])
    api.create(f"{GROUP}/jobqueues", a_queue("research"))
    for space, name in ((namespace, "mine"), ("default", "theirs")):
        api.create(
            f"{GROUP}/namespaces/{space}/trainingjobs", a_training_job(name, queue="research")
        )
    rights = [{**JOBS, "verbs": READ}]
    name = f"user-{namespace}"
    token = add_account(api, name, namespace, cluster_rules=[], own_rules=rights)
    yield User(with_token(control_plane.kubeconfig, token, tmp_path / "kubeconfig"), capsys)
    remove_cluster_rights(api, f"user-{namespace}")
    api.delete(f"{GROUP}/namespaces/default/trainingjobs/theirs")


def test_queues_that_may_not_be_listed_are_those_of_ones_own_jobs(
    user: User, namespace: str
) -> None:
    found, missing = user.answer("queue", "-n", namespace)
    assert [(each["name"], each["waiting"]) for each in found["queues"]] == [("research", 1)]
    assert 'cannot list resource "jobqueues"' in missing
    found, missing = user.answer("queue", "research", "-n", namespace)
    assert found["queue"] is None
    assert [each["job"] for each in found["waiting"]] == [f"TrainingJob/{namespace}/mine"]


def test_status_shows_what_is_ones_own_and_says_what_is_missing(user: User, namespace: str) -> None:
    ran = user.run("status", "-n", namespace)
    assert ran.status == 0
    assert f"TrainingJob/{namespace}/mine" in ran.out
    assert "theirs" not in ran.out + ran.err
    assert "secret-node" not in ran.out + ran.err
    for kind in ("nodes", "pods", "jobqueues", "gpupools", "placementpolicies"):
        assert f'cannot list resource "{kind}"' in ran.err


def test_jobs_of_ones_namespace_are_shown_without_any_other_right(
    user: User, namespace: str
) -> None:
    found, missing = user.answer("top", "jobs", "-n", namespace)
    assert [each["job"] for each in found["jobs"]] == [f"TrainingJob/{namespace}/mine"]
    assert missing == ""


def test_all_namespaces_are_denied_with_a_word_on_what_is_missing(user: User) -> None:
    for watch in ([], ["--watch"]):
        ran = user.run("top", "jobs", "-A", *watch)
        assert (ran.status, ran.out) == (3, "")
        assert 'cannot list resource "trainingjobs"' in ran.err


def test_the_namespace_is_the_contexts(user: User, namespace: str, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    config = yaml.safe_load(file.read_text())
    config["contexts"][0]["context"]["namespace"] = namespace
    file.write_text(yaml.safe_dump(config))
    found, _ = user.answer("top", "jobs")
    assert [each["job"] for each in found["jobs"]] == [f"TrainingJob/{namespace}/mine"]
