"""What the jobs of a scope share: nodes with their devices, queue limits, power budgets."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from plimsoll_placement.cpsat.exact.devices import devices_suffice
from plimsoll_placement.cpsat.exact.linear import no_more_than
from plimsoll_placement.cpsat.exact.variables import Variables
from plimsoll_placement.cpsat.sums import Sum, Terms
from plimsoll_placement.model import DomainName, GpuType, QueueName, Shape, amount_in


@dataclass(slots=True)
class _Demand:
    """What the scope asks of a node: sums over counts of pods; `gpus` by type and milli-GPUs."""

    cpu_millis: Sum = field(default_factory=Sum)
    memory_bytes: Sum = field(default_factory=Sum)
    slots: Sum = field(default_factory=Sum)
    gpu_memory_bytes: Sum = field(default_factory=Sum)
    gpus: dict[GpuType, dict[int, Sum]] = field(default_factory=dict[GpuType, dict[int, Sum]])
    others: dict[str, Sum] = field(default_factory=dict[str, Sum])

    def add(self, shape: Shape, gpu_type: GpuType, count: Terms) -> None:
        terms = list(count)
        self.cpu_millis.add(terms, shape.cpu_millis)
        self.memory_bytes.add(terms, shape.memory_bytes)
        self.slots.add(terms)
        self.gpu_memory_bytes.add(terms, shape.gpu_memory_bytes)
        for name, amount in shape.others:
            self.others.setdefault(name, Sum()).add(terms, amount)
        if shape.gpu_milli:
            self.gpus.setdefault(gpu_type, {}).setdefault(shape.gpu_milli, Sum()).add(terms)


def fit(variables: Variables) -> None:
    """Require that everything fits together."""
    nodes_suffice(variables)
    weights_fit_one_gpu(variables)
    limits_hold(variables)
    budgets_hold(variables)


def nodes_suffice(variables: Variables) -> None:
    """No CPU, memory, pod slot or device of a node is allocated twice."""
    nodes = variables.remains.scope.problem.nodes
    for row, demand in _demands(variables).items():
        rest = variables.remains.rest(row)
        no_more_than(variables.model, demand.cpu_millis, max(0, rest.cpu_millis))
        no_more_than(variables.model, demand.memory_bytes, max(0, rest.memory_bytes))
        no_more_than(variables.model, demand.slots, max(0, rest.slots))
        no_more_than(variables.model, demand.gpu_memory_bytes, max(0, rest.gpu_memory_bytes))
        for name, amount in demand.others.items():
            no_more_than(variables.model, amount, max(0, amount_in(rest.others, name)))
        for gpu_type, requested in demand.gpus.items():
            job_classes = [
                devices for devices in nodes[row].devices if devices.gpu_type == gpu_type
            ]
            standing = Counter(rest.requested_millis.get(gpu_type, ()))
            devices_suffice(variables, job_classes, requested, standing)


def weights_fit_one_gpu(variables: Variables) -> None:
    """No pod stays that holds more of a shared GPU's memory than one pod can have there."""
    nodes = variables.remains.scope.problem.nodes
    for kept, assignment, rows in variables.kept_assignments():
        weights = kept.job.role(assignment.role).shape.gpu_memory_bytes
        if weights and any(nodes[row].gpu_memory_each_bytes < weights for row in rows):
            no_more_than(variables.model, Sum().add([(kept.stays, 1)]), 0)


def _demands(variables: Variables) -> dict[int, _Demand]:
    demands: dict[int, _Demand] = defaultdict(_Demand)
    for batch, row, count in variables.pods():
        demands[row].add(batch.role.shape, batch.gpu_type, [(count, 1)])
    for kept, assignment, rows in variables.kept_assignments():
        for row in rows:
            shape = kept.job.role(assignment.role).shape
            demands[row].add(shape, assignment.gpu_type, [(kept.stays, 1)])
    return demands


def limits_hold(variables: Variables) -> None:
    """A queue and all its descendants together stay within its limit of each GPU type."""
    remains, held = variables.remains, defaultdict[tuple[QueueName, GpuType], Sum](Sum)
    chain = remains.scope.problem.queue_chain
    for batch, _, count in variables.pods():
        for queue in chain.get(batch.job.queue, ()):
            held[queue, batch.gpu_type].add([(count, batch.role.shape.gpu_milli)])
    for kept, assignment, rows in variables.kept_assignments():
        milli = kept.job.role(assignment.role).shape.gpu_milli * len(rows)
        for queue in chain.get(kept.job.queue, ()):
            held[queue, assignment.gpu_type].add([(kept.stays, milli)])
    for queue in remains.scope.problem.queues:
        for gpu_type, limit in queue.limit.items():
            left = max(0, limit - remains.held_milli[queue.name, gpu_type])
            no_more_than(variables.model, held[queue.name, gpu_type].merged(), left)


def budgets_hold(variables: Variables) -> None:
    """The expected draw of a power domain stays within its budget."""
    drawn: dict[DomainName, Sum] = defaultdict(Sum)
    nodes = variables.remains.scope.problem.nodes
    for batch, row, count in variables.pods():
        for domain in nodes[row].power_domains:
            microwatts = batch.role.shape.draw_milli * nodes[row].busy_milliwatts
            drawn[domain].add([(count, microwatts)])
    for kept, assignment, rows in variables.kept_assignments():
        for row in rows:
            microwatts = (
                kept.job.role(assignment.role).shape.draw_milli * nodes[row].busy_milliwatts
            )
            for domain in nodes[row].power_domains:
                drawn[domain].add([(kept.stays, microwatts)])
    for domain, left in variables.remains.power_left().items():
        no_more_than(variables.model, drawn[domain].merged(), left)
