"""What must hold of each job on its own: one function per rule, yielding the violations.

A held job (see `PlacedJob`) is exempt from all of these.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from plimsoll_placement.check.placed import PlacedJob, PlacedReplica, is_same
from plimsoll_placement.check.violation import Rule
from plimsoll_placement.model import NO_GPUS, Assignment, Node, RoleName
from plimsoll_placement.problem import Problem


def replica_given_once(_: Problem, placed: PlacedJob) -> Iterator[str]:
    """No replica of a role is placed twice."""
    counts = Counter((r.assignment.role, r.assignment.replica) for r in placed.replicas)
    for (role, replica), times in counts.items():
        if times > 1:
            yield f"replica {replica} of role {role} is placed {times} times"


def replica_is_whole(_: Problem, placed: PlacedJob) -> Iterator[str]:
    """Each replica has a node for each of its pods."""
    for replica in placed.replicas:
        pods, wanted = len(replica.assignment.nodes), replica.role.pods_per_replica
        if pods != wanted:
            yield f"{_name(replica)} has {pods} pods, a replica has {wanted}"


def count_is_allowed(_: Problem, placed: PlacedJob) -> Iterator[str]:
    """Each role of a running job has one of the role's allowed replica counts."""
    counts = Counter(replica.role.name for replica in placed.replicas)
    for role in placed.job.roles:
        if counts[role.name] not in role.counts:
            allowed = ", ".join(map(str, role.counts))
            yield f"role {role.name} has {counts[role.name]} replicas, allowed are {allowed}"


def one_size(_: Problem, placed: PlacedJob) -> Iterator[str]:
    """All roles of a gang have the count of one and the same size."""
    if not placed.job.gang or len(placed.job.roles) == 1:
        return
    counts = Counter(replica.role.name for replica in placed.replicas)
    has = tuple(counts[role.name] for role in placed.job.roles)
    if has not in set(zip(*(role.counts for role in placed.job.roles), strict=True)):
        parts = ", ".join(
            f"{count} of {role.name}" for role, count in zip(placed.job.roles, has, strict=True)
        )
        yield f"the gang has {parts}, which together is none of its sizes"


def one_gpu_type(_: Problem, placed: PlacedJob) -> Iterator[str]:
    """Each role of a gang, and each that is not mixable, is on one GPU type."""
    types: dict[RoleName, set[str]] = {}
    for replica in placed.replicas:
        if placed.job.gang or not replica.role.mixable:
            types.setdefault(replica.role.name, set()).add(replica.assignment.gpu_type)
    for role, names in types.items():
        if len(names) > 1:
            yield f"role {role} is on {len(names)} GPU types: {', '.join(sorted(names))}"


def gpu_type_is_right(_: Problem, placed: PlacedJob) -> Iterator[str]:
    """A replica's GPU type is one that its role runs on and that its nodes offer."""
    for replica in placed.replicas:
        gpu_type = replica.assignment.gpu_type
        if gpu_type not in replica.role.yields:
            yield f"{_name(replica)} is on {gpu_type}, on which its role yields nothing"
            continue
        if replica.role.shape.gpu_milli == 0:
            if gpu_type != NO_GPUS:
                yield f"{_name(replica)} needs no GPUs and is on {gpu_type}"
            continue
        for node in replica.nodes:
            if all(devices.gpu_type != gpu_type for devices in node.devices):
                yield f"{_name(replica)} is on {gpu_type}, of which node {node.name} has 0"


def node_is_eligible(problem: Problem, placed: PlacedJob) -> Iterator[str]:
    """A pod's selectors, affinity and tolerations admit its node."""
    index = problem.node_index
    for replica in placed.replicas:
        for node in replica.nodes:
            if not replica.role.eligible >> index[node.name] & 1:
                yield f"{_name(replica)} may not run on node {node.name}"


def node_is_usable(_: Problem, placed: PlacedJob) -> Iterator[str]:
    """No pod is on a node that is gone, faulty or about to be interrupted."""
    for replica in placed.replicas:
        for node in replica.nodes:
            if not node.usable:
                yield f"{_name(replica)} is on node {node.name}, which is not usable"


def closed_node_takes_nothing_new(_: Problem, placed: PlacedJob) -> Iterator[str]:
    """A closed node keeps what it runs; a gang that changes restarts, so all of it is new."""
    closed = [r for r in placed.replicas if not all(node.open for node in r.nodes)]
    if not closed:
        return
    kept = _kept(placed)
    for replica in closed:
        if replica.assignment not in kept:
            names = ", ".join(node.name for node in replica.nodes if not node.open)
            yield f"{_name(replica)} would start on {names}, closed to what is new"


def spot_share_holds(_: Problem, placed: PlacedJob) -> Iterator[str]:
    """No more of a job's replicas are on spot nodes than its largest share; of a gang, by role."""
    for percent, replicas in _spot_shares(placed):
        spot = sum(any(node.spot for node in replica.nodes) for replica in replicas)
        if spot * 100 > percent * len(replicas):
            yield (
                f"{spot} of {len(replicas)} replicas are on spot nodes, at most {percent} % may be"
            )


def _spot_shares(placed: PlacedJob) -> Iterator[tuple[int, Sequence[PlacedReplica]]]:
    """Replicas that are counted together, with the largest share of them on spot nodes."""
    if not placed.job.gang:
        yield placed.job.spot_percent, placed.replicas
        return
    for place, role in enumerate(placed.job.roles):
        percent = role.spot_percent if place else placed.job.spot_percent
        yield percent, _of_role(placed, role.name)


def required_topology_holds(problem: Problem, placed: PlacedJob) -> Iterator[str]:
    """The pods of a gang's role, or of one replica of a service, share the required domain."""
    for who, level, nodes in _bound_together(placed):
        domains = {_domain(node, level) for node in nodes}
        if len(domains) > 1:
            yield f"{who} is spread over {len(domains)} domains of {problem.levels[level]}"


def _bound_together(placed: PlacedJob) -> Iterator[tuple[str, int, Sequence[Node]]]:
    """Whose pods must be in one domain of which level, and their nodes."""
    job = placed.job
    if job.gang:
        for place, role in enumerate(job.roles):
            level = role.required_level if place else job.required_level
            if level is not None:
                nodes = [node for each in _of_role(placed, role.name) for node in each.nodes]
                yield f"role {role.name}", level, nodes
    elif job.required_level is not None:
        for replica in placed.replicas:
            yield _name(replica), job.required_level, replica.nodes


def _of_role(placed: PlacedJob, name: RoleName) -> Sequence[PlacedReplica]:
    return [replica for replica in placed.replicas if replica.role.name == name]


def _domain(node: Node, level: int) -> tuple[bool, str]:
    """The node's domain at that level; a node without the label is a domain of its own."""
    label = node.topology[level] if level < len(node.topology) else ""
    return (True, label) if label else (False, node.name)


def _kept(placed: PlacedJob) -> frozenset[Assignment]:
    job = placed.job
    if job.gang and not is_same(tuple(r.assignment for r in placed.replicas), job.running):
        return frozenset()
    return frozenset(job.running)


def _name(replica: PlacedReplica) -> str:
    return f"replica {replica.assignment.replica} of role {replica.assignment.role}"


JobRule = Callable[[Problem, PlacedJob], Iterator[str]]

JOB_RULES: tuple[tuple[Rule, JobRule], ...] = (
    (Rule.REPLICA_ONCE, replica_given_once),
    (Rule.REPLICA_WHOLE, replica_is_whole),
    (Rule.REPLICA_COUNT, count_is_allowed),
    (Rule.ONE_SIZE, one_size),
    (Rule.ONE_GPU_TYPE, one_gpu_type),
    (Rule.GPU_TYPE, gpu_type_is_right),
    (Rule.ELIGIBLE, node_is_eligible),
    (Rule.USABLE, node_is_usable),
    (Rule.OPEN, closed_node_takes_nothing_new),
    (Rule.SPOT_SHARE, spot_share_holds),
    (Rule.TOPOLOGY, required_topology_holds),
)
