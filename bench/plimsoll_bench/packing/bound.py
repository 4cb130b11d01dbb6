"""How much of a cluster any packing could use of what arrives, with everything known beforehand.

A linear program over kinds of pods and of nodes: pods can be split, and nodes of one kind are one
pool of CPU, memory and GPUs. That devices cannot be shared at will is reflected by rules that hold
for every device: for any e up to half of it, pods larger than all but e count as a whole device,
pods smaller than e not at all, and together they are at most one (Martello and Toth's L2). Besides,
a device holds no more than two pods larger than a third, and a node no more than one pod that takes
more than half of its devices. And of all devices together each holds one of the combinations of
shares that fit on a device (Gilmore and Gomory's patterns), for there may be no pods to fill a gap.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from plimsoll_placement.lp.program import Climber, Column, Program
from plimsoll_placement.model import WHOLE_GPU_MILLI, NodeName
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Host

DETERMINISTIC_SECONDS = 60
MOST_PATTERNS = 20_000
"""With more combinations the program takes too long, and the bound goes without them."""
Make = tuple[Host, int]
Ways = Sequence[tuple[PodKind, Column]]


def most_used_percent(
    hosts: Iterable[Host], pods: Iterable[PodKind], kept: Iterable[PodKind] = ()
) -> float:
    """An upper bound on the share of all GPUs that these pods can use, including those kept."""
    counts, least = Counter(pods), Counter(kept)
    makes = _makes(hosts)
    program = Program()
    ways: dict[PodKind, list[Column]] = {pod: [] for pod in counts}
    for make in makes:
        here = [(pod, program.column(count)) for pod, count in counts.items() if _fits(make, pod)]
        _limit(program, make, here)
        for pod, column in here:
            ways[pod].append(column)
    for pod, columns in ways.items():
        program.at_most([(column, 1.0) for column in columns], counts[pod])
        program.at_most([(column, -1.0) for column in columns], -least[pod])
    gpus = sum(host.gpus * count for host, count in makes)
    _limit_patterns(program, ways, gpus)
    used = [(column, pod.total_gpu_milli / 1000) for pod in ways for column in ways[pod]]
    most = Climber(program, [used], DETERMINISTIC_SECONDS).climb(0)
    return 100.0 if most is None else min(100.0, 100 * most / gpus)


def _makes(hosts: Iterable[Host]) -> list[Make]:
    """Groups of like nodes, as one of them and their number."""
    alike = Counter(
        Host(NodeName(""), host.model, host.cpu_millis, host.memory_mib, host.gpus)
        for host in hosts
    )
    return list(alike.items())


def _fits(make: Make, pod: PodKind) -> bool:
    host, _ = make
    enough = pod.cpu_millis <= host.cpu_millis and pod.memory_mib <= host.memory_mib
    return enough and pod.gpus <= host.gpus and pod.accepts(host.model)


def _limit(program: Program, make: Make, here: Ways) -> None:
    """What the nodes of one make can hold, in cores, GiB, GPUs, devices and nodes."""
    host, count = make

    def at_most(each: Callable[[PodKind], float], limit: float) -> None:
        program.at_most([(column, each(pod)) for pod, column in here if each(pod)], limit * count)

    at_most(lambda pod: pod.cpu_millis / 1000, host.cpu_millis / 1000)
    at_most(lambda pod: pod.memory_mib / 1024, host.memory_mib / 1024)
    at_most(lambda pod: pod.total_gpu_milli / 1000, host.gpus)
    for small in _smallest_that_count(pod for pod, _ in here):
        at_most(lambda pod, small=small: pod.gpus * _part(pod.gpu_milli, small), host.gpus)
    at_most(lambda pod: pod.gpus * (3 * pod.gpu_milli > WHOLE_GPU_MILLI) / 2, host.gpus)
    at_most(lambda pod: float(2 * pod.gpus > host.gpus > 1), 1)


def _limit_patterns(program: Program, ways: Mapping[PodKind, Sequence[Column]], gpus: int) -> None:
    """Every device holds whole pods or one of the patterns of shares."""
    shares = sorted({pod.gpu_milli for pod in ways if pod.gpus == 1}, reverse=True)
    patterns = list(islice(_patterns(shares, WHOLE_GPU_MILLI), MOST_PATTERNS + 1))
    if len(patterns) > MOST_PATTERNS:
        return
    devices = [(pattern, program.column(gpus)) for pattern in patterns]
    for place, share in enumerate(shares):
        placed = [
            (column, 1.0)
            for pod in ways
            if (pod.gpus, pod.gpu_milli) == (1, share)
            for column in ways[pod]
        ]
        room = [(column, -float(pattern[place])) for pattern, column in devices if pattern[place]]
        program.at_most([*placed, *room], 0)
    whole = [(column, float(pod.gpus)) for pod in ways if pod.gpus > 1 for column in ways[pod]]
    program.at_most([*whole, *((column, 1.0) for _, column in devices)], gpus)


def _patterns(shares: Sequence[int], milli: int) -> Iterator[tuple[int, ...]]:
    """How many pods of each share, the largest first, can be together, if no more fit beside."""
    if not shares:
        yield ()
        return
    for count in range(milli // shares[0], -1, -1):
        left = milli - count * shares[0]
        if len(shares) > 1:
            yield from ((count, *rest) for rest in _patterns(shares[1:], left))
        elif left < shares[0]:
            yield (count,)


def _smallest_that_count(pods: Iterable[PodKind]) -> set[int]:
    """The values of e that matter for these pods, in milli-GPUs."""
    shares = {pod.gpu_milli for pod in pods if pod.gpus}
    beside = {WHOLE_GPU_MILLI - share + 1 for share in shares}
    return {small for small in shares | beside if 2 * small <= WHOLE_GPU_MILLI}


def _part(share: int, small: int) -> float:
    """How much of a device a share counts for if shares below `small` do not count."""
    if share > WHOLE_GPU_MILLI - small:
        return 1.0
    return share / WHOLE_GPU_MILLI if share >= small else 0.0
