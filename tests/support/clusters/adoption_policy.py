"""The chart's admission policies in a cluster, without Helm."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http import HTTPStatus

import yaml

from plimsoll_console.ledger.snapshots import CREATED_BY
from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.objects.batch_jobs import GATE
from support.objects.manifests import training_job
from support.objects.plain_jobs import a_plain_job
from support.objects.pod_groups import a_grouped_pod
from support.objects.workloads import COLLECTIONS, KINDS, a_workload_of, asking
from support.project.pages import ROOT

_FILES = ROOT / "charts" / "plimsoll" / "files"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_POLICY = f"{_ADMISSION}/mutatingadmissionpolicies"
_BINDING = f"{_ADMISSION}/mutatingadmissionpolicybindings"
_JOBS = "/apis/batch/v1/namespaces/{}/jobs"
TRAINING_JOBS = "/apis/plimsoll.dev/v1alpha1/namespaces/{}/trainingjobs"
_EFFECT_SECONDS = 30


@contextmanager
def adoption_policy(api: ApiServer) -> Generator[None]:
    """Have the policy for Jobs in force until the block ends."""
    with _policy(api, "adoption"):
        await_adoption(api, "default", a_plain_job(queue="probe"))
        yield


@contextmanager
def workloads_policy(api: ApiServer) -> Generator[None]:
    """Have the policy for all other workloads in force until the block ends."""
    with _policy(api, "adoption-workloads"):
        for kind in KINDS:
            await_held(api, COLLECTIONS[kind].format("default"), asking(a_workload_of(kind)))
        yield


@contextmanager
def pods_policy(api: ApiServer) -> Generator[None]:
    """Have the policy for plain pods in force until the block ends."""
    with _policy(api, "adoption-pods"):
        pods, probe = "/api/v1/namespaces/default/pods?dryRun=All", a_grouped_pod(0, "probe")
        wait_until(
            lambda: is_gated(api.create(pods, probe)),
            timeout_seconds=_EFFECT_SECONDS,
            what="plain pods are held",
        )
        yield


@contextmanager
def created_by_policy(api: ApiServer) -> Generator[None]:
    """Have the policy that says who created a job in force until the block ends."""
    with _policy(api, "created-by"):
        jobs = f"{TRAINING_JOBS.format('default')}?dryRun=All"
        wait_until(
            lambda: (
                CREATED_BY in api.create(jobs, training_job())["metadata"].get("annotations", {})
            ),
            timeout_seconds=_EFFECT_SECONDS,
            what="jobs say who created them",
        )
        yield


def is_gated(pod: Mapping[str, Manifest]) -> bool:
    """Whether a pod waits behind our scheduling gate."""
    return {"name": GATE} in pod["spec"].get("schedulingGates", [])


def await_held(api: ApiServer, collection: str, probe: Manifest) -> None:
    """Wait until such a workload would be held.

    The API server refuses it while the policy's part of it has not heard of the kind yet.
    """

    def is_held() -> bool:
        try:
            return is_suspended(api.create(f"{collection}?dryRun=All", probe))
        except ApiServerRefusedError as error:
            if error.status != HTTPStatus.SERVICE_UNAVAILABLE:
                raise
            return False

    what = f"a {probe['kind']} is held"
    wait_until(is_held, timeout_seconds=_EFFECT_SECONDS, what=what)


@contextmanager
def _policy(api: ApiServer, name: str) -> Generator[None]:
    head = {"metadata": {"name": name}}
    spec = yaml.safe_load((_FILES / f"{name}-policy.yaml").read_text())
    api.create(_POLICY, {**head, "spec": spec})
    api.create(_BINDING, {**head, "spec": {"policyName": name}})
    yield
    api.delete(f"{_BINDING}/{name}")
    api.delete(f"{_POLICY}/{name}")


def is_suspended(workload: Mapping[str, Manifest]) -> bool:
    """Whether a workload of any kind is to run no pods."""
    spec = workload["spec"]
    return bool(spec.get("runPolicy", spec).get("suspend"))


def admitted(api: ApiServer, namespace: str, job: Manifest) -> Manifest:
    """A Job as it would be stored; nothing is."""
    return api.create(f"{_JOBS.format(namespace)}?dryRun=All", job)


def await_adoption(api: ApiServer, namespace: str, job: Manifest) -> None:
    """Wait until such a Job would be held: policies and namespaces' labels take a moment."""
    wait_until(
        lambda: admitted(api, namespace, job)["spec"]["suspend"],
        timeout_seconds=_EFFECT_SECONDS,
        what=f"Jobs in {namespace} are held",
    )
