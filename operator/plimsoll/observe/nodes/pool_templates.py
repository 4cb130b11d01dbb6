"""How nodes are ordered for a pool, and the labels and taints that they then have."""

from collections.abc import Mapping
from typing import Final

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.parts.provisioning.node_claim_template import NodeClaimTemplate, NodeTaint
from plimsoll.api.parts.provisioning.provisioning_request_template import (
    ProvisioningRequestTemplate,
)
from plimsoll.kube.objects.objects import Taint
from plimsoll.observe.nodes.gpu_figures import is_amd
from plimsoll.observe.nodes.orders import Way

_PRODUCT: Final = "nvidia.com/gpu.product"
_AMD_PRODUCT: Final = "amd.com/gpu.product-name"


def template_of(pool: GPUPool) -> NodeClaimTemplate | None:
    """The NodeClaims that are ordered for a pool; None if none are."""
    terms = pool.spec.provisioning
    return None if terms is None else terms.node_claim


def request_of(pool: GPUPool) -> ProvisioningRequestTemplate | None:
    """The ProvisioningRequests that are made for a pool; None if none are."""
    terms = pool.spec.provisioning
    return None if terms is None else terms.provisioning_request


def way_of(pool: GPUPool) -> Way | None:
    """How a pool's nodes are ordered; None if they are not."""
    if request_of(pool) is not None:
        return Way.PROVISIONING_REQUEST
    return None if template_of(pool) is None else Way.NODE_CLAIM


def future_labels(pool: GPUPool) -> Mapping[str, str]:
    """The labels that nodes ordered for a pool are to have, but for their GPUs' product."""
    template = template_of(pool)
    return {**(template.metadata.labels if template else {}), **pool.spec.node_selector}


def expected_labels(pool: GPUPool) -> Mapping[str, str]:
    """The same, with those whose value follows from what the nodes must be, such as their zone."""
    template = template_of(pool)
    only = {
        each.key: each.values[0]
        for each in (template.spec.requirements if template else ())
        if each.operator == "In" and len(each.values) == 1
    }
    return {**only, **future_labels(pool)}


def product_label(pool: GPUPool) -> Mapping[str, str]:
    """The label that says which GPUs they have, if the pool does."""
    gpu_type = pool.spec.gpu_type
    if gpu_type is None:
        return {}
    return {_AMD_PRODUCT if is_amd(gpu_type) else _PRODUCT: gpu_type}


def gpu_resource(pool: GPUPool) -> str:
    """The resource by which their GPUs are requested: NVIDIA's, unless the pool's are AMD's."""
    return "amd.com/gpu" if is_amd(pool.spec.gpu_type or "") else "nvidia.com/gpu"


def future_taints(pool: GPUPool) -> tuple[Taint, ...]:
    """The taints that they are to have."""
    return tuple(Taint(each.key, each.effect, each.value or "") for each in _stated_taints(pool))


def _stated_taints(pool: GPUPool) -> tuple[NodeTaint, ...]:
    template, request = template_of(pool), request_of(pool)
    if request is not None:
        return request.taints
    return template.spec.taints if template else ()
