"""Whose is a pod? Its labels name a job, but whoever may make pods may write any label on theirs.

So a pod is a job's only in the job's own namespace, where who makes pods may also make jobs; and
one that is not bound yet counts for what a deleted job left only where Kubernetes' garbage
collector, too, takes it for that, and so removes it.
"""

from plimsoll.kube.objects.objects import OwnerReference, Pod
from plimsoll.observe.snapshot import GROUP, JOB_UID


def named_job(pod: Pod) -> str:
    """The uid of the job that a pod's labels name, "" where they name none."""
    return pod.metadata.labels.get(JOB_UID, "")


def is_left_behind(pod: Pod) -> bool:
    """Whether a pod was made for a job: it is owned by the one that its labels name."""
    uid = named_job(pod)
    return bool(uid) and any(owner.uid == uid for owner in own_references(pod))


def own_references(pod: Pod) -> tuple[OwnerReference, ...]:
    """The owners of a pod that are of our kinds."""
    return tuple(filter(is_own, pod.metadata.owner_references))


def is_own(owner: OwnerReference) -> bool:
    """Whether an owner is of our kinds."""
    return owner.api_version.startswith(f"{GROUP}/")
