"""The part of another controller's pod template that plans read.

What its pods run is left out, and so are its GPUs, which a job states separately.
"""

from typing import Any

import msgspec

from plimsoll.kube.objects.objects import Labels, PodSpec

_NOT_READ = "left-out"


def template_shape(spec: PodSpec, gpus: str, labels: Labels) -> dict[str, Any]:
    """A pod template for a job, without the GPU resource of that name.

    The pods' labels are kept where they decide which pods keep away from each other.
    """
    kept = msgspec.structs.replace(
        spec,
        node_name="",
        priority=None,
        priority_class_name="",
        scheduling_gates=(),
        scheduling_group=None,
        volumes=spec.claimed,
    )
    raw: dict[str, Any] = msgspec.to_builtins(kept)
    for part in ("containers", "initContainers"):
        raw[part] = [_without(each, gpus) for each in raw.get(part, ())]
    apart = spec.affinity is not None and spec.affinity.pod_anti_affinity is not None
    return {"metadata": {"labels": dict(labels)}, "spec": raw} if apart else {"spec": raw}


def _without(container: dict[str, Any], gpus: str) -> dict[str, Any]:
    resources = {
        which: {name: amount for name, amount in amounts.items() if name != gpus}
        for which, amounts in container.get("resources", {}).items()
    }
    return {**container, "image": _NOT_READ, "resources": resources}
