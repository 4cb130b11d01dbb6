"""How the console answers: nothing is run as what it is not, and nothing is open by mistake."""

from collections.abc import Iterator

import pytest
import urllib3

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.processes.console_process import ConsoleProcess
from plimsoll_devcluster.service_accounts import add_account, remove_cluster_rights, with_token
from support.clusters.console_users import JOBS, MakeUser
from support.project.rights import console_rules

PATHS = ("/", "/healthz", "/api/v1/map", "/nothing", "/api/v1/nothing", "/../settings.py")


@pytest.mark.parametrize("path", PATHS)
def test_each_answer_says_how_it_may_be_used(console: ConsoleProcess, path: str) -> None:
    said = urllib3.request("GET", f"{console.url}{path}", retries=False).headers
    policy = said["Content-Security-Policy"]
    for part in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"):
        assert part in policy
    assert "unsafe" not in policy
    assert said["X-Content-Type-Options"] == "nosniff"
    assert said["Referrer-Policy"] == "no-referrer"
    assert "Server" not in said


def test_what_has_not_changed_is_not_sent_again(a_user: MakeUser) -> None:
    user = a_user([JOBS])
    url = f"{user.console.url}/api/v1/queues"
    headers = {"Authorization": f"Bearer {user.token}"}
    tag = urllib3.request("GET", url, headers=headers).headers["ETag"]
    again = urllib3.request("GET", url, headers={**headers, "If-None-Match": tag})
    assert (again.status, again.data) == (304, b"")


def test_its_metrics_are_not_taken_for_the_operators(console: ConsoleProcess) -> None:
    shown = console.probe("/metrics")[1]
    assert "plimsoll_watched_objects" in shown
    for name in ("plimsoll_leader", "plimsoll_plan_gap_percent", "plimsoll_loop_errors"):
        assert name not in shown


def test_a_question_that_is_too_large_is_refused(a_user: MakeUser) -> None:
    assert a_user([JOBS]).post("explain", name="x" * 100_000)[0] == 413


@pytest.fixture
def unable(
    control_plane: Cluster, api: ApiServer, namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConsoleProcess]:
    """A console that may not have rights reviewed."""
    name = f"unable-{namespace}"
    rules = [r for r in console_rules() if r["apiGroups"] != ["authorization.k8s.io"]]
    token = add_account(api, name, namespace, cluster_rules=rules, own_rules=[])
    config = tmp_path_factory.mktemp("unable") / "kubeconfig"
    with ConsoleProcess(with_token(control_plane.kubeconfig, token, config)) as process:
        yield process
    remove_cluster_rights(api, name)


def test_where_rights_cannot_be_reviewed_nobody_sees_anything(
    unable: ConsoleProcess, a_user: MakeUser
) -> None:
    user = a_user([JOBS])
    for path in ("map", "jobs", "cluster", "me", "events?view=map"):
        status, said = unable.get(f"/api/v1/{path}", user.token)
        assert status == 503
        assert list(said) == ["problems"]
