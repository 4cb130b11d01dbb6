"""The rights that the reference names do: to view a job to look at it, to patch it to stop it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.service_accounts import add_account, remove_cluster_rights, with_token
from support.clusters.scene import GROUP
from support.objects.job_manifests import a_training_job
from support.programs.cli_runs import Ran, run

READ = ["get", "list", "watch"]
VIEW = [
    {"apiGroups": ["plimsoll.dev"], "resources": ["trainingjobs", "inferencejobs"], "verbs": READ},
    {"apiGroups": [""], "resources": ["pods", "events"], "verbs": READ},
]
PATCH = [{"apiGroups": ["plimsoll.dev"], "resources": ["trainingjobs"], "verbs": ["patch"]}]


class User:
    """Somebody with rights to one namespace, in which there is a job."""

    def __init__(
        self, kubeconfig: Path, namespace: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._kubeconfig, self._namespace, self._capsys = kubeconfig, namespace, capsys

    def run(self, *arguments: str) -> Ran:
        where = ("-n", self._namespace, "--kubeconfig", str(self._kubeconfig))
        return run(self._capsys, *arguments, *where)


@pytest.fixture
def user(  # noqa: PLR0913, PLR0917 - what pytest gives it
    request: pytest.FixtureRequest,
    control_plane: Cluster,
    api: ApiServer,
    namespace: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[User]:
    """A user with the rights of the test; another's job is in the namespace `default`."""
    for space, name in ((namespace, "mine"), ("default", "theirs")):
        api.create(f"{GROUP}/namespaces/{space}/trainingjobs", a_training_job(name))
    name = f"user-{namespace}"
    token = add_account(api, name, namespace, cluster_rules=[], own_rules=request.param)
    kubeconfig = with_token(control_plane.kubeconfig, token, tmp_path / "kubeconfig")
    yield User(kubeconfig, namespace, capsys)
    remove_cluster_rights(api, name)
    api.delete(f"{GROUP}/namespaces/default/trainingjobs/theirs")


@pytest.mark.parametrize("user", [VIEW], indirect=True)
def test_whoever_may_view_jobs_sees_all_but_the_prices(user: User, namespace: str) -> None:
    ran = user.run("job", "mine", "-o", "json")
    assert (ran.status, json.loads(ran.out)["job"]) == (0, f"TrainingJob/{namespace}/mine")
    assert 'cannot list resource "gpupools"' in ran.err
    for command in ("tree", "events"):
        ran = user.run(command, "mine")
        assert (ran.status, "mine" in ran.out) == (0, True), ran.err
    assert user.run("logs", "mine").status == 0


@pytest.mark.parametrize("user", [VIEW], indirect=True)
def test_whoever_may_not_patch_a_job_cannot_suspend_it(
    user: User, api: ApiServer, namespace: str
) -> None:
    ran = user.run("suspend", "mine")
    assert (ran.status, ran.out) == (3, "")
    assert 'cannot patch resource "trainingjobs"' in ran.err
    assert ran.err.endswith("get permission to patch\n")
    job = api.get(f"{GROUP}/namespaces/{namespace}/trainingjobs/mine")
    assert not job["spec"].get("suspend")


@pytest.mark.parametrize("user", [[*VIEW, *PATCH]], indirect=True)
def test_a_job_is_suspended_with_no_more_rights_than_are_named(
    user: User, api: ApiServer, namespace: str
) -> None:
    ran = user.run("suspend", "mine")
    assert ran.status == 0, ran.err
    assert ran.out.endswith("mine: suspended: it no longer waits for a place\n")
    assert api.get(f"{GROUP}/namespaces/{namespace}/trainingjobs/mine")["spec"]["suspend"]


@pytest.mark.parametrize("user", [VIEW], indirect=True)
@pytest.mark.parametrize("name", ["theirs", "nobodys"])
def test_whether_others_have_a_job_of_a_name_is_not_told(user: User, name: str) -> None:
    ran = user.run("job", f"TrainingJob/default/{name}")
    assert (ran.status, ran.out, name in ran.err) == (3, "", False)
