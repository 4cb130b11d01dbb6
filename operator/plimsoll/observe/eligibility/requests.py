"""Compute a pod's resource requests as kube-scheduler does.

A pod counts with its peak need: all containers and sidecars together, or an init container next to
the sidecars started before it, plus the overhead of its runtime. Sums are capped at
`quantities.LARGEST`, more than any node has. Limits stand in for missing requests, as on the API
server, so that a template never sent there counts the same. A resize in place that is under way is
not considered.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from plimsoll.api.values.quantities import capped, millis, units
from plimsoll.kube.objects.objects import Container, PodSpec, Quantities, ResourceRequirements
from plimsoll_placement.model import SINGLE

_CPU = "cpu"
_MEMORY = "memory"

Amounts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Requests:
    """A pod's requests; `others` are bytes of storage or counts of devices, by resource name.

    Ports of the node that it takes are among them.
    """

    cpu_millis: int = 0
    memory_bytes: int = 0
    others: Amounts = field(default_factory=dict[str, int])


def effective_requests(spec: PodSpec) -> Requests:
    """The effective requests of a pod with this spec. Raises InvalidQuantity."""
    containers = _most_at_once(spec.containers, spec.init_containers)
    # A request for the whole pod overrides its containers'; a limit only fills in what they omit.
    whole = spec.resources or ResourceRequirements()
    needs = {**_amounts(whole.limits), **containers, **_amounts(whole.requests)}
    total = _sum((needs, _amounts(spec.overhead)))
    others = {name: n for name, n in total.items() if n and name not in (_CPU, _MEMORY)}
    others.update((name, 1) for name in _host_ports(spec))
    return Requests(total.get(_CPU, 0), total.get(_MEMORY, 0), others)


def _host_ports(spec: PodSpec) -> Iterator[str]:
    """The ports of its node that a pod takes, as resources of which each node has one.

    In the network of its node, all ports of its containers. Addresses are not told apart.
    """
    sidecars = (each for each in spec.init_containers if each.restart_policy == "Always")
    for container in (*spec.containers, *sidecars):
        for port in container.ports:
            number = port.host_port or (port.container_port if spec.host_network else 0)
            if number:
                yield f"{SINGLE}host port {port.protocol} {number}"


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
