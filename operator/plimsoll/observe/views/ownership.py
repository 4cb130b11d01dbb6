"""Decide whose a pod is; its labels alone are no proof, since any creator can write them.

So a pod is a job's only in the job's own namespace, where whoever may create pods may also create
jobs; and an unbound pod counts as left over from a deleted job only if Kubernetes' garbage
collector agrees, and so removes it.
"""

from plimsoll.api.definition import GROUP
from plimsoll.kube.objects.objects import OwnerReference, Pod
from plimsoll.observe.labels import JOB_UID


def named_job(pod: Pod) -> str:
    """The uid of the job that a pod's labels name, "" if they name none."""
    return pod.metadata.labels.get(JOB_UID, "")


def controller_uid(pod: Pod) -> str:
    """The uid of the controller that made a pod, "" if none did.

    It is true of pods that last: the garbage collector removes those whose controller is not there.
    """
    owners = (owner for owner in pod.metadata.owner_references if owner.controller)
    return next((owner.uid for owner in owners), "")


def is_left_behind(pod: Pod) -> bool:
    """Whether a pod was made for a job: the job that its labels name owns it."""
    uid = named_job(pod)
    return bool(uid) and any(owner.uid == uid for owner in own_references(pod))


def own_references(pod: Pod) -> tuple[OwnerReference, ...]:
    """The owners of a pod that are of our kinds."""
    return tuple(filter(is_own, pod.metadata.owner_references))


def is_own(owner: OwnerReference) -> bool:
    """Whether an owner is of our kinds."""
    return owner.api_version.startswith(f"{GROUP}/")
