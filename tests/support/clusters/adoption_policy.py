"""The chart's admission policy for Jobs in a cluster, without Helm."""

from collections.abc import Generator
from contextlib import contextmanager

import yaml

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.objects.plain_jobs import a_plain_job
from support.project.pages import ROOT

_FILE = ROOT / "charts" / "plimsoll" / "files" / "adoption-policy.yaml"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_POLICY = f"{_ADMISSION}/mutatingadmissionpolicies"
_BINDING = f"{_ADMISSION}/mutatingadmissionpolicybindings"
_NAME = "adoption"
_EFFECT_SECONDS = 30


@contextmanager
def adoption_policy(api: ApiServer) -> Generator[None]:
    """Have the policy in force until the block ends."""
    head = {"metadata": {"name": _NAME}}
    api.create(_POLICY, {**head, "spec": yaml.safe_load(_FILE.read_text())})
    api.create(_BINDING, {**head, "spec": {"policyName": _NAME}})
    await_adoption(api, "default", a_plain_job(queue="probe"))
    yield
    api.delete(f"{_BINDING}/{_NAME}")
    api.delete(f"{_POLICY}/{_NAME}")


def admitted(api: ApiServer, namespace: str, job: Manifest) -> Manifest:
    """A Job as it would be stored; nothing is."""
    return api.create(f"/apis/batch/v1/namespaces/{namespace}/jobs?dryRun=All", job)


def await_adoption(api: ApiServer, namespace: str, job: Manifest) -> None:
    """Wait until such a Job would be held: policies and namespaces' labels take a moment."""
    wait_until(
        lambda: admitted(api, namespace, job)["spec"]["suspend"],
        timeout_seconds=_EFFECT_SECONDS,
        what=f"Jobs in {namespace} are held",
    )
