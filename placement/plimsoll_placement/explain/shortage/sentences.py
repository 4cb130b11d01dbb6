"""A shortage in words: what is needed, and what there is of it."""

from collections.abc import Callable

from plimsoll_placement.explain.shortage.amounts import (
    cpu,
    gpu_memory,
    gpus,
    gpus_of,
    is_single,
    listed,
    memory,
    other,
    power,
    resource_name,
)
from plimsoll_placement.explain.shortage.shortage import Ask, Reason, Shortage
from plimsoll_placement.model import WHOLE_GPU_MILLI, Shape


def full(shortage: Shortage, *, alone: bool) -> str:
    """A clause with all numbers; `alone`: there is no more even if nothing of ours ran."""
    return _FULL[shortage.reason](shortage, alone=alone)


# What is needed


def _needed(shortage: Shortage, beside: str = "") -> str:
    """What is asked for; `beside`: what else each pod takes."""
    return _pods_needed(shortage, beside) + _in_one(shortage.ask)


def _pods_needed(shortage: Shortage, beside: str) -> str:
    ask = shortage.ask
    if not ask.shape.gpu_milli:
        return _plain_pods(ask)
    each = gpus_of(ask.shape.gpu_milli, ask.gpu_type) + beside
    if ask.pods == 1:
        return each + _on_one(ask)
    if ask.shape.gpu_milli == WHOLE_GPU_MILLI and not beside:
        return gpus_of(ask.gpu_milli, ask.gpu_type)
    return f"{ask.pods} {_holders(shortage)} with {each} each"


def _plain_pods(ask: Ask) -> str:
    """Pods without GPUs, by what they take instead."""
    pods, parts = f"{ask.pods} {'pods' if ask.pods > 1 else 'pod'}", _other_parts(ask.shape)
    if not parts:
        return pods
    return f"{pods} with {listed(parts)}{' each' if ask.pods > 1 else ''}"


def _other_parts(shape: Shape) -> list[str]:
    """What a pod takes besides GPUs."""
    parts = [cpu(shape.cpu_millis)] if shape.cpu_millis else []
    parts += [memory(shape.memory_bytes)] if shape.memory_bytes else []
    parts += [gpu_memory(shape.gpu_memory_bytes)] if shape.gpu_memory_bytes else []
    return parts + [other(name, amount) for name, amount in shape.others]


def _is_part(ask: Ask) -> bool:
    return ask.shape.gpu_milli < WHOLE_GPU_MILLI


def _on_one(ask: Ask) -> str:
    if _is_part(ask):
        return " on one device"
    return " on one node" if ask.shape.gpu_milli > WHOLE_GPU_MILLI else ""


def _holders(shortage: Shortage) -> str:
    """The noun: "nodes" if no node has room for two such pods, otherwise "pods"."""
    return "nodes" if shortage.nodes.most_pods == 1 else "pods"


def _in_one(ask: Ask) -> str:
    if not ask.level or ask.group_pods == 1:
        return ""
    return f" in one {ask.level}" if ask.groups == 1 else f", {ask.group_pods} in one {ask.level}"


# What there is

_NO_FRACTIONS = "no node offers such fractions: have device plugins share GPUs"


def _by_devices(shortage: Shortage, *, alone: bool) -> str:
    return f"needs {_needed(shortage)}; {_devices_to_be_had(shortage, alone=alone)}"


def _devices_to_be_had(shortage: Shortage, *, alone: bool) -> str:
    nodes, ask = shortage.nodes, shortage.ask
    if not nodes.offering:
        return "the cluster has none"
    if not nodes.grants_share:
        return _NO_FRACTIONS if _is_part(ask) else "no node offers whole GPUs"
    most = "the most" if alone else "the most free"
    if ask.pods == 1 and ask.shape.gpu_milli != WHOLE_GPU_MILLI:
        where = "device" if _is_part(ask) else "node"
        return f"{most} on one {where} is {gpus(nodes.most_free_milli)}{_of_which(shortage)}"
    return _count_to_be_had(shortage, alone=alone) + _of_which(shortage)


def _count_to_be_had(shortage: Shortage, *, alone: bool) -> str:
    pods, ask = shortage.nodes.pods, shortage.ask
    if ask.shape.gpu_milli == WHOLE_GPU_MILLI:
        return f"the cluster has {pods}" if alone else f"{pods or 'none'} {_are(pods)} free"
    if _holders(shortage) == "nodes":
        such = f"{pods or 'no'} such {'nodes' if pods > 1 else 'node'}"
        return f"the cluster has {such}" if alone else f"{such} {_are(pods)} free"
    room = f"room for {pods}"
    return f"the cluster has {room}" if alone else f"there is {room}"


def _are(count: int) -> str:
    return "are" if count > 1 else "is"


def _of_which(shortage: Shortage) -> str:
    """What was not counted."""
    nodes = shortage.nodes
    left_out = {
        "other": nodes.offering - nodes.eligible,
        "closed": nodes.eligible - nodes.open,
        "spot": nodes.spot,
    }
    kinds = [kind for kind, count in left_out.items() if count]
    if not kinds:
        return ""
    reach = nodes.open - nodes.spot
    return f" on the {reach} of {nodes.offering} nodes that it may use" if reach else ""


def _by_eligible_nodes(shortage: Shortage, **_: bool) -> str:
    nodes, having = shortage.nodes, " with these GPUs" if shortage.ask.shape.gpu_milli else ""
    if nodes.eligible:
        closed = f"all {nodes.eligible} nodes" if nodes.eligible > 1 else "the only node"
        which = f"{closed}{having} that it may run on {_are(nodes.eligible)} closed"
        return f"needs {_needed(shortage)}; {which}"
    which = f"none of the {nodes.offering} nodes{having}"
    return f"needs {_needed(shortage)}; its selectors, affinity and tolerations admit {which}"


def _by_queue(shortage: Shortage, **_: bool) -> str:
    return f"needs {_needed(shortage)}; {_queue_left(shortage)}"


def _queue_left(shortage: Shortage) -> str:
    if shortage.queue is None:
        return "its queue has none left"
    return f"queue {shortage.queue.queue} may still use {gpus(max(0, shortage.queue.milli))}"


def _by_spot_share(shortage: Shortage, **_: bool) -> str:
    may = f"at most {shortage.spot_pods}" if shortage.spot_pods else "none"
    room = f"there is room for {shortage.steady_pods} of its {shortage.ask.pods} pods"
    return f"needs {_needed(shortage)}; {room} off spot nodes, and {may} may be on spot"


def _by_others(shortage: Shortage, **_: bool) -> str:
    parts = _other_parts(shortage.ask.shape)
    beside = f" with {listed(parts)}" if parts and shortage.ask.pods == 1 else ""
    if parts and not beside:
        beside = f"{',' if len(parts) > 1 else ' and'} {listed(parts)}"
    return f"needs {_needed(shortage, beside)}; {_others_left(shortage)}"


def _others_left(shortage: Shortage) -> str:
    shape, others = shortage.ask.shape, shortage.others
    if others is None:
        return "no node has the CPU and memory"
    free: list[str] = []
    if others.cpu_millis < shape.cpu_millis:
        free.append(cpu(others.cpu_millis))
    if others.memory_bytes < shape.memory_bytes:
        free.append(memory(others.memory_bytes))
    if others.gpu_memory_bytes < shape.gpu_memory_bytes:
        free.append(gpu_memory(max(0, others.gpu_memory_bytes)))
    needed = dict(shape.others)
    short = [(name, amount) for name, amount in others.others if amount < needed[name]]
    free += [other(name, amount) for name, amount in short if not is_single(name)]
    taken = [resource_name(name) for name, _ in short if is_single(name)]
    found = [f"have at most {listed(free)} left"] if free else []
    found += [f"offer no {listed(taken)}"] if taken else []
    if found:
        where = "nodes with such GPUs free" if shape.gpu_milli else "nodes that it may use"
        return f"{where} {' and '.join(found)}"
    beside = ", memory of GPUs" if shape.gpu_memory_bytes else ""
    beside += "".join(f", {resource_name(name)}" for name in needed)
    all_of_it = f"CPU, memory{beside} and pod slots"
    return f"there are {all_of_it} for {others.pods} of {shortage.ask.pods} pods"


def _by_topology(shortage: Shortage, **_: bool) -> str:
    return f"needs {_needed(shortage)}; {_best_domain(shortage)}"


def _best_domain(shortage: Shortage) -> str:
    ask, best = shortage.ask, shortage.domain
    if best is None:
        return f"no {ask.level} has them"
    name = f" ({best.domain})" if best.domain else ""
    if ask.shape.gpu_milli == WHOLE_GPU_MILLI:
        return f"the most free in one {ask.level} is {best.pods}{name}"
    return f"the most that one {ask.level} has room for is {best.pods}{name}"


def _by_power(shortage: Shortage, **_: bool) -> str:
    gap = shortage.power
    if gap is None:
        return f"needs {_needed(shortage)}; no single power domain has enough power left"
    more, budget = power(gap.missing_milliwatts), power(gap.budget_milliwatts)
    return f"needs {more} more than power domain {gap.domain} has left (budget {budget})"


def _by_nothing(shortage: Shortage, **_: bool) -> str:
    return f"needs {_needed(shortage)}; available, but not all at once beside its other pods"


_FULL: dict[Reason, Callable[..., str]] = {
    Reason.INSUFFICIENT_GPUS: _by_devices,
    Reason.NO_ELIGIBLE_NODE: _by_eligible_nodes,
    Reason.QUEUE_LIMIT: _by_queue,
    Reason.SPOT_SHARE: _by_spot_share,
    Reason.INSUFFICIENT_RESOURCES: _by_others,
    Reason.TOPOLOGY_UNSATISFIED: _by_topology,
    Reason.POWER_BUDGET: _by_power,
    Reason.PENDING: _by_nothing,
}


# The types that are farther away


def brief(shortage: Shortage) -> str:
    """The same in a few words, to follow a full clause."""
    return f"{_needed(shortage)}, {_shortly(shortage)}"


def _shortly(shortage: Shortage) -> str:  # noqa: PLR0911  # one return for each reason
    match shortage.reason:
        case Reason.NO_ELIGIBLE_NODE:
            return "on no node that it may use"
        case Reason.QUEUE_LIMIT:
            return _queue_left(shortage)
        case Reason.POWER_BUDGET if shortage.power is not None:
            return f"{power(shortage.power.missing_milliwatts)} short in {shortage.power.domain}"
        case Reason.TOPOLOGY_UNSATISFIED:
            return _best_domain(shortage)
        case Reason.SPOT_SHARE:
            return f"room for {shortage.steady_pods} off spot"
        case Reason.INSUFFICIENT_RESOURCES:
            return _others_left(shortage)
        case Reason.INSUFFICIENT_GPUS:
            return _devices_shortly(shortage)
        case _:
            return "not all at once"


def _devices_shortly(shortage: Shortage) -> str:
    nodes, ask = shortage.nodes, shortage.ask
    if not nodes.offering:
        return "the cluster has none"
    if ask.pods == 1:
        return f"most free {gpus(nodes.most_free_milli)}"
    return f"room for {nodes.pods}"
