"""What a pod takes of its node, as kube-scheduler counts it.

The most that it needs at any time: all containers and sidecars together, or an init container
beside the sidecars that were started before it; and the overhead of its runtime. Sums end at
`quantities.LARGEST`, which is more than any node has. Limits stand in for requests that are not
given, as they do on the API server, so that a template that was never sent there counts alike. A
resize in place that is under way is not looked at.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from plimsoll.api.values.quantities import capped, millis, units
from plimsoll.kube.objects.objects import Container, PodSpec, Quantities, ResourceRequirements

_CPU = "cpu"
_MEMORY = "memory"

Amounts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Requests:
    """What a pod takes; `others` are bytes of storage or counts of devices, by resource name."""

    cpu_millis: int = 0
    memory_bytes: int = 0
    others: Amounts = field(default_factory=dict[str, int])


def effective_requests(spec: PodSpec) -> Requests:
    """What a pod of this spec takes of its node. Raises InvalidQuantity."""
    containers = _most_at_once(spec.containers, spec.init_containers)
    # A request for the pod as a whole goes before what its containers say, a limit behind it.
    whole = spec.resources or ResourceRequirements()
    needs = {**_amounts(whole.limits), **containers, **_amounts(whole.requests)}
    total = _sum((needs, _amounts(spec.overhead)))
    return Requests(
        cpu_millis=total.get(_CPU, 0),
        memory_bytes=total.get(_MEMORY, 0),
        others={name: n for name, n in total.items() if n and name not in (_CPU, _MEMORY)},
    )


def _most_at_once(containers: Iterable[Container], inits: Iterable[Container]) -> Amounts:
    sidecars: Amounts = {}
    starting: Amounts = {}
    for init in inits:
        needs = _sum((_requested(init.resources), sidecars))
        starting = _most((starting, needs))
        if init.restart_policy == "Always":
            sidecars = needs
    running = _sum((sidecars, *(_requested(each.resources) for each in containers)))
    return _most((running, starting))


def _requested(resources: ResourceRequirements) -> Amounts:
    return _amounts({**resources.limits, **resources.requests})


def _amounts(quantities: Quantities) -> Amounts:
    return {
        name: millis(quantity) if name == _CPU else units(quantity)
        for name, quantity in quantities.items()
    }


def _sum(parts: Iterable[Amounts]) -> Amounts:
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = capped(total.get(name, 0) + amount)
    return total


def _most(parts: Iterable[Amounts]) -> Amounts:
    most: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            most[name] = max(most.get(name, 0), amount)
    return most
