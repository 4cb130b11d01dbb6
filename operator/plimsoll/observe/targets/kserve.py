"""Tell whether KServe sets the replicas of a Deployment that it has made.

It copies the annotations of an InferenceService to its Deployment. Unless they name another
autoscaler, it makes a HorizontalPodAutoscaler for that, or sets the replicas itself.
"""

from typing import Final

from plimsoll.kube.watching.workloads import WorkloadMeta

AUTOSCALER: Final = "serving.kserve.io/autoscalerClass"
_GROUP: Final = "serving.kserve.io/"
_EXTERNAL: Final = "external"


def left_to_kserve(what: str, meta: WorkloadMeta) -> str | None:
    """Why the replicas of `what` are left to KServe, and the remedy; None if KServe leaves them."""
    owner = meta.controller
    if owner is None or not owner.api_version.startswith(_GROUP):
        return None
    if meta.annotations.get(AUTOSCALER) == _EXTERNAL:
        return None
    return (
        f"{what} belongs to {owner.kind} {owner.name}, whose own autoscaler sets its replicas:"
        f" annotate that with {AUTOSCALER}: {_EXTERNAL}"
    )
