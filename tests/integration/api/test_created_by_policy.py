"""Jobs say who created them, and nobody else can."""

from collections.abc import Iterator

import pytest

from plimsoll_console.ledger.snapshots import CREATED_BY
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adoption_policy import TRAINING_JOBS, created_by_policy
from support.objects.manifests import edited, training_job

ADMIN = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
FORGED = {CREATED_BY: "somebody-else"}


@pytest.fixture(scope="module", autouse=True)
def _policy(control_plane: Cluster) -> Iterator[None]:
    with created_by_policy(control_plane.api):
        yield


@pytest.fixture
def ann(api: ApiServer, namespace: str) -> ApiServer:
    """The API server as a user with all rights in the test's namespace."""
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "ann"},
        "roleRef": ADMIN,
        "subjects": [subject],
    }
    of_namespace = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings"
    api.create(of_namespace, binding)
    return api.as_user("ann")


def created_by(job: Manifest) -> str | None:
    return job["metadata"].get("annotations", {}).get(CREATED_BY)


def test_a_job_says_who_created_it(ann: ApiServer, namespace: str) -> None:
    assert created_by(ann.create(TRAINING_JOBS.format(namespace), training_job())) == "ann"


def test_it_cannot_be_forged_at_creation(ann: ApiServer, namespace: str) -> None:
    forged = edited(training_job(), {"metadata.annotations": FORGED})
    assert created_by(ann.create(TRAINING_JOBS.format(namespace), forged)) == "ann"


@pytest.mark.parametrize("value", ["somebody-else", "", None])
def test_it_cannot_be_changed_or_removed(
    ann: ApiServer, api: ApiServer, namespace: str, value: str | None
) -> None:
    jobs = TRAINING_JOBS.format(namespace)
    ann.create(jobs, training_job())
    name = training_job()["metadata"]["name"]
    for user in (ann, api):
        patched = user.merge(f"{jobs}/{name}", {"metadata": {"annotations": {CREATED_BY: value}}})
        assert created_by(patched) == "ann"


def test_other_annotations_stay(ann: ApiServer, namespace: str) -> None:
    job = edited(training_job(), {"metadata.annotations": {"example.com/note": "kept"}})
    stored = ann.create(TRAINING_JOBS.format(namespace), job)
    assert stored["metadata"]["annotations"]["example.com/note"] == "kept"
