"""What users may do by the chart's roles: their jobs in their namespace, and nothing of others."""

import secrets
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest

from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.fake_nodes import NODES, add_nodes, fake_node
from plimsoll_devcluster.manifest import Manifest, manifests_in
from plimsoll_devcluster.waiting import wait_until
from support.objects.job_manifests import (
    a_pool,
    a_power_domain,
    a_queue,
    a_training_job,
    an_inference_job,
)
from support.project.pages import ROOT

GROUP = "/apis/plimsoll.dev/v1alpha1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES = ROOT / "charts" / "plimsoll" / "templates" / "user-roles.yaml"
OTHERS = "default"
"""A namespace in which they have no rights."""
EFFECT_SECONDS = 30
JOBS = {
    "trainingjobs": a_training_job("train"),
    "inferencejobs": an_inference_job("serve"),
}
OF_THE_CLUSTER: dict[str, Manifest] = {
    "jobqueues": a_queue("theirs", limit=0),
    "gpupools": a_pool("theirs", {"zone": "a"}),
    "powerdomains": a_power_domain("theirs", {"zone": "a"}, budget_watts=1000),
    "placementpolicies": {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "PlacementPolicy",
        "metadata": {"name": "default"},
        "spec": {},
    },
}


def chart_roles(release: str) -> list[Manifest]:
    """The ClusterRoles of the chart's template, without Helm."""
    text = ROLES.read_text().replace('{{ include "plimsoll.name" . }}', release)
    plain = "\n".join(line for line in text.splitlines() if "{{" not in line)
    return manifests_in(plain)


@pytest.fixture
def tenants(api: ApiServer, namespace: str) -> Iterator[dict[str, ApiServer]]:
    """Users of a namespace with the roles edit and view there, and one with view everywhere."""
    release = f"release-{secrets.token_hex(3)}"
    roles = chart_roles(release)
    for role in roles:
        api.create(f"{RBAC}/clusterroles", role)
    own = f"{RBAC}/namespaces/{namespace}/rolebindings"
    for role in ("edit", "view"):
        api.create(own, binding(f"{role}-{release}", role))
    api.create(f"{RBAC}/clusterrolebindings", binding(f"viewer-{release}", "view"))
    users = {
        name: api.as_user(f"{name}-{release}") for name in ("edit", "view", "viewer", "nobody")
    }
    wait_until(
        lambda: may(users["edit"], "create", namespace) and may(users["view"], "list", namespace),
        timeout_seconds=EFFECT_SECONDS,
        what="the roles are aggregated",
    )
    yield users
    api.delete(f"{RBAC}/clusterrolebindings/viewer-{release}")
    for role in roles:
        api.delete(f"{RBAC}/clusterroles/{role['metadata']['name']}")


def binding(user: str, role: str) -> Manifest:
    subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "ClusterRole", "name": role, "apiGroup": "rbac.authorization.k8s.io"}
    return {"metadata": {"name": user}, "roleRef": reference, "subjects": [subject]}


def may(user: ApiServer, verb: str, namespace: str) -> bool:
    """Whether the API server says that a user may do something with training jobs."""
    asked = {"verb": verb, "group": "plimsoll.dev", "resource": "trainingjobs"}
    body = {"spec": {"resourceAttributes": {**asked, "namespace": namespace}}}
    review = user.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
    return bool(review["status"]["allowed"])


def jobs(namespace: str, plural: str = "trainingjobs") -> str:
    return f"{GROUP}/namespaces/{namespace}/{plural}"


def forbidden(ask: Any, *arguments: Any) -> bool:  # noqa: ANN401 - any request
    """Whether the API server says no because of who asks; another error is raised."""
    try:
        ask(*arguments)
    except ApiServerRefusedError as error:
        if error.status != HTTPStatus.FORBIDDEN or "cannot" not in str(error):
            raise
        return True
    return False


def test_users_have_their_jobs_in_their_namespace_only(
    tenants: dict[str, ApiServer], namespace: str
) -> None:
    edit, view = tenants["edit"], tenants["view"]
    for plural, job in JOBS.items():
        path = f"{jobs(namespace, plural)}/{job['metadata']['name']}"
        assert forbidden(view.create, jobs(namespace, plural), job)
        assert forbidden(edit.create, jobs(OTHERS, plural), job)
        assert forbidden(edit.items, jobs(OTHERS, plural))
        assert forbidden(edit.items, f"{GROUP}/{plural}")
        edit.create(jobs(namespace, plural), job)
        edit.merge(path, {"spec": {"suspend": True}})
        assert forbidden(view.merge, path, {"spec": {"suspend": False}})
        assert view.get(path)["spec"]["suspend"] is True
        assert len(view.items(jobs(namespace, plural))) == 1
        for user in (edit, view):
            assert forbidden(user.merge, f"{path}/status", {"status": {"message": "mine"}})
        assert forbidden(view.merge, f"{path}/scale", {"spec": {"replicas": 1}})
        assert forbidden(tenants["nobody"].get, path)
        assert forbidden(view.delete, path)
        edit.delete(path)


def test_users_change_nothing_that_belongs_to_the_cluster(
    api: ApiServer, tenants: dict[str, ApiServer]
) -> None:
    for plural, manifest in OF_THE_CLUSTER.items():
        path = f"{GROUP}/{plural}/{manifest['metadata']['name']}"
        api.create(f"{GROUP}/{plural}", manifest)
        for user in (tenants["edit"], tenants["viewer"]):
            assert forbidden(user.create, f"{GROUP}/{plural}", manifest)
            assert forbidden(user.merge, path, {"metadata": {"labels": {"mine": "yes"}}})
            assert forbidden(user.merge, f"{path}/status", {"status": {}})
            assert forbidden(user.delete, path)
        assert forbidden(tenants["edit"].get, path), "a RoleBinding does not show them"
        assert tenants["viewer"].get(path)["kind"] == manifest["kind"]


def test_users_write_nothing_that_the_operator_and_agents_exchange(
    api: ApiServer, tenants: dict[str, ApiServer]
) -> None:
    add_nodes(api, [fake_node("node")])
    taint = {"key": "plimsoll.dev/quarantine", "effect": "NoSchedule"}
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    for user in (tenants["edit"], tenants["viewer"]):
        for name in ("power-cap-watts", "power-cap-time", "power-limit-watts"):
            notes = {"metadata": {"annotations": {f"plimsoll.dev/{name}": "1"}}}
            assert forbidden(user.merge, f"{NODES}/node", notes)
        assert forbidden(user.merge, f"{NODES}/node", {"spec": {"taints": [taint]}})
        assert forbidden(user.create, lease, {"metadata": {"name": "plimsoll"}})


def test_users_get_no_token_of_anothers_pods(tenants: dict[str, ApiServer], namespace: str) -> None:
    spec = {"spec": {"audiences": ["plimsoll.dev"]}}
    account = f"/api/v1/namespaces/{OTHERS}/serviceaccounts/default/token"
    for user in tenants.values():
        assert forbidden(user.create, account, spec)
    own = f"/api/v1/namespaces/{namespace}/serviceaccounts/default/token"
    assert forbidden(tenants["view"].create, own, spec)
