"""Jobs as a tree: queues, their jobs, the roles of these, their pods and where these are."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from plimsoll.api.job_queue import JobQueue
from plimsoll.api.kinds import Job
from plimsoll.cli.jobs.naming import scales, stands_for, title
from plimsoll.cli.jobs.pods import role_of, state_of
from plimsoll.cli.output.document import Drawing
from plimsoll.cli.output.report import Line, gpus
from plimsoll.kube.objects.objects import Pod

_BESIDE = "beside"
"""What pods of an adopted workload are listed under that no plan places, such as a launcher."""


class PodLeaf(Line, frozen=True):
    """A pod, its GPUs and its node, if it has one."""

    name: str
    state: str
    gpus: float
    node: str


class RoleBranch(Line, frozen=True):
    """The pods of a role."""

    role: str
    pods: tuple[PodLeaf, ...]


class JobBranch(Line, frozen=True):
    """A job, what stands behind it, and its pods by role."""

    job: str
    workload: str
    reason: str
    message: str
    roles: tuple[RoleBranch, ...]


class QueueBranch(Line, frozen=True):
    """A queue with the queues below it, and the jobs in it."""

    queue: str
    queues: tuple["QueueBranch", ...]
    jobs: tuple[JobBranch, ...]


class Tree(Line, frozen=True):
    """The queues at the top that have jobs."""

    queues: tuple[QueueBranch, ...]


def tree(
    jobs: Iterable[Job],
    pods: Mapping[str, Sequence[Pod]],
    queues: Iterable[JobQueue],
) -> Tree:
    """The tree of jobs with their pods by uid. Queues without any of them are left out."""
    of_queue: dict[str, list[JobBranch]] = defaultdict(list)
    for job in sorted(jobs, key=title):
        of_queue[job.spec.queue].append(_job(job, pods.get(job.metadata.uid, ())))
    parents = {each.metadata.name: each.spec.parent or "" for each in queues}
    children, tops = _forest(of_queue, _without_circles(parents))
    return Tree(tuple(_queue(top, children, of_queue) for top in sorted(tops)))


def _forest(
    used: Iterable[str], parents: Mapping[str, str]
) -> tuple[Mapping[str, set[str]], set[str]]:
    """The queues below each queue, and those at the top."""
    children: dict[str, set[str]] = defaultdict(set)
    tops: set[str] = set()
    for name in used:
        path = [*_upwards(name, parents)]
        tops.add(path[-1])
        for child, parent in pairwise(path):
            children[parent].add(child)
    return children, tops


def _upwards(name: str, parents: Mapping[str, str]) -> Iterator[str]:
    """A queue, its parent and so on."""
    while name:
        yield name
        name = parents.get(name, "")


def _without_circles(parents: Mapping[str, str]) -> Mapping[str, str]:
    """The parents, less those that would lead back to where one came from."""
    kept: dict[str, str] = {}
    for name, parent in sorted(parents.items()):
        if name not in _upwards(parent, kept):
            kept[name] = parent
    return kept


def _queue(
    name: str, children: Mapping[str, set[str]], jobs: Mapping[str, Sequence[JobBranch]]
) -> QueueBranch:
    below = sorted(children.get(name, ()))
    return QueueBranch(
        name,
        tuple(_queue(each, children, jobs) for each in below),
        tuple(jobs.get(name, ())),
    )


def _job(job: Job, pods: Iterable[Pod]) -> JobBranch:
    return JobBranch(
        job=title(job),
        workload=stands_for(job) or scales(job),
        reason=job.status.reason,
        message=job.status.message,
        roles=tuple(
            RoleBranch(role or _BESIDE, tuple(_pod(job, pod) for pod in group))
            for role, group in groupby(pods, key=role_of)
        ),
    )


def _pod(job: Job, pod: Pod) -> PodLeaf:
    milli = job.spec.milli_gpus_by_role.get(role_of(pod), 0)
    return PodLeaf(pod.metadata.name, state_of(pod), gpus(milli), pod.spec.node_name)


def tree_drawing(tree: Tree) -> Drawing:
    """A tree for people."""
    return Drawing(tuple(_lines(tree)))


def _lines(tree: Tree) -> Iterator[str]:
    for top in tree.queues:
        yield top.queue
        yield from _below(_branches(top))


Branch = tuple[str, "list[Branch]"]


def _below(branches: Sequence[Branch]) -> Iterator[str]:
    for at, (text, below) in enumerate(branches):
        is_last = at == len(branches) - 1
        yield f"{'└─' if is_last else '├─'} {text}"
        indent = "   " if is_last else "│  "
        yield from (indent + line for line in _below(below))


def _branches(queue: QueueBranch) -> list[Branch]:
    below = [(each.queue, _branches(each)) for each in queue.queues]
    return below + [(_headline(each), _roles(each)) for each in queue.jobs]


def _headline(job: JobBranch) -> str:
    behind = f" for {job.workload}" if job.workload else ""
    why = f": {job.message}" if job.message and not job.roles else ""
    return f"{job.job}{behind}  {job.reason or '-'}{why}"


def _roles(job: JobBranch) -> list[Branch]:
    return [(role.role, [(_pod_text(pod), []) for pod in role.pods]) for role in job.roles]


def _pod_text(pod: PodLeaf) -> str:
    on = f" on {pod.node}" if pod.node else ""
    noun = "GPU" if pod.gpus == 1 else "GPUs"
    held = f", {pod.gpus:g} {noun}" if pod.gpus else ""
    return f"{pod.name}  {pod.state}{on}{held}"
