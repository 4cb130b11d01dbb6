"""What differs between the controllers: their flags, whether they have webhooks, how these show."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.programs import workload_controllers as programs
from plimsoll_devcluster.programs.workload_controllers import WEBHOOKS, ControllerProgram

LOOPBACK = "127.0.0.1"
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets?dryRun=All"
TRAIN_JOBS = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs?dryRun=All"
PYTORCH_JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs?dryRun=All"
APP_WRAPPERS = "/apis/workload.codeflare.dev/v1beta2/namespaces/default/appwrappers?dryRun=All"
CONTAINER = {"name": "pytorch", "image": "none"}
POD_TEMPLATE = {"spec": {"containers": [CONTAINER]}}


@dataclass(frozen=True, slots=True)
class Place:
    """Where one controller runs: its own folder, and its ports."""

    folder: Path
    webhook_port: int
    probe_port: int
    metrics_port: int

    @property
    def certificates(self) -> Path:
        """The folder with tls.crt and tls.key."""
        return self.folder / "certificates"

    @property
    def probes(self) -> str:
        """The address of its probes."""
        return f"{LOOPBACK}:{self.probe_port}"


@dataclass(frozen=True, slots=True)
class ControllerKind:
    """A controller as it is run: its program, and whether its webhooks are asked.

    `own_flags` are those of a program that does not take the flags of hack/serving; `environment`
    adds to its variables.
    """

    program: ControllerProgram
    is_asked: Callable[[ApiServer], bool] = field(default=lambda _: True)
    own_flags: Callable[[Place], Mapping[str, object]] | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def has_webhooks(self) -> bool:
        """Whether it serves any."""
        return WEBHOOKS in self.program.beside

    def flags(self, place: Place) -> Mapping[str, object]:
        """The flags with which it runs in a place."""
        if self.own_flags:
            return self.own_flags(place)
        flags: dict[str, object] = {"health-probe-bind-address": place.probes}
        if self.has_webhooks:
            flags["webhook-server-port"] = place.webhook_port
            flags["webhook-cert-dir"] = place.certificates
        return flags


def _jobset_is_asked(api: ApiServer) -> bool:
    """Whether the webhooks complete a JobSet, and refuse one of whose jobs no name is short enough.

    The API server notices each of the two configurations for itself.
    """
    job = {"name": "job", "template": {"spec": {"template": POD_TEMPLATE}}}
    made = _answer(api, JOBSETS, _manifest("JobSet", "probe", replicatedJobs=[job]))
    return "startupPolicy" in made.get("spec", {}) and _is_refused(
        api, JOBSETS, _manifest("JobSet", "probe" * 13, replicatedJobs=[job])
    )


def _trainer_is_asked(api: ApiServer) -> bool:
    """Whether the webhooks date a TrainJob's patch, and refuse one of a runtime that is not."""
    patches = [{"manager": "plimsoll.dev/probe"}]
    known, unknown = ({"name": name} for name in ("torch-distributed", "none"))
    right = _manifest("TrainJob", "probe", runtimeRef=known, runtimePatches=patches)
    made = _answer(api, TRAIN_JOBS, right)
    dated = [patch for patch in made.get("spec", {}).get("runtimePatches", []) if "time" in patch]
    wrong = _manifest("TrainJob", "probe", runtimeRef=unknown)
    return bool(dated) and _is_refused(api, TRAIN_JOBS, wrong)


def _training_operator_is_asked(api: ApiServer) -> bool:
    """Whether the webhook refuses a PyTorchJob with two masters, and takes one with one."""
    one, two = ({"Master": {"replicas": masters, "template": POD_TEMPLATE}} for masters in (1, 2))
    made = _answer(api, PYTORCH_JOBS, _manifest("PyTorchJob", "probe", pytorchReplicaSpecs=one))
    wrong = _manifest("PyTorchJob", "probe", pytorchReplicaSpecs=two)
    return bool(made) and _is_refused(api, PYTORCH_JOBS, wrong)


def _appwrapper_is_asked(api: ApiServer) -> bool:
    """Whether the webhooks note an AppWrapper's user, and refuse one that wraps no pods."""
    wrapped = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, **POD_TEMPLATE}
    made = _answer(
        api, APP_WRAPPERS, _manifest("AppWrapper", "probe", components=[{"template": wrapped}])
    )
    return bool(made.get("metadata", {}).get("labels")) and _is_refused(
        api, APP_WRAPPERS, _manifest("AppWrapper", "probe", components=[])
    )


def _manifest(kind: str, name: str, **spec: Any) -> Manifest:  # noqa: ANN401 - fields of a spec
    versions = {
        "JobSet": "jobset.x-k8s.io/v1alpha2",
        "TrainJob": "trainer.kubeflow.org/v1alpha1",
        "PyTorchJob": "kubeflow.org/v1",
        "AppWrapper": "workload.codeflare.dev/v1beta2",
    }
    named = {"metadata": {"name": name}, "spec": spec}
    return {"apiVersion": versions[kind], "kind": kind, **named}


def _answer(api: ApiServer, path: str, manifest: Manifest) -> Manifest:
    """The object as it would be, nothing if it is refused: a webhook may not be reached yet."""
    try:
        return api.create(path, manifest)
    except ApiServerRefusedError:
        return {}


def _is_refused(api: ApiServer, path: str, manifest: Manifest) -> bool:
    try:
        api.create(path, manifest)
    except ApiServerRefusedError as error:
        return "denied the request" in str(error)
    return False


JOBSET = ControllerKind(programs.JOBSET, _jobset_is_asked)
TRAINER = ControllerKind(programs.TRAINER, _trainer_is_asked)
TRAINING_OPERATOR = ControllerKind(programs.TRAINING_OPERATOR, _training_operator_is_asked)
# A pod that is deleted before KubeRay has seen it is replaced only when KubeRay looks again for no
# reason, by default after five minutes.
KUBERAY = ControllerKind(
    programs.KUBERAY, environment={"RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV": "10"}
)
APPWRAPPER = ControllerKind(programs.APPWRAPPER, _appwrapper_is_asked)
