"""What the smallest gang of a job with a deadline needs, and what all jobs hold of the nodes."""

from collections import Counter

from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.planning.training.batch_limits import allowed_counts


def least_workers(view: JobView) -> int:
    """The workers of a training job's smallest gang."""
    assert view.training is not None  # noqa: S101 - only training jobs have deadlines
    return allowed_counts(view.training)[0]


def milli_per_worker(view: JobView) -> int:
    """The milli-GPUs of each of a training job's workers."""
    assert view.training is not None  # noqa: S101 - as above
    return view.training.spec.workers.milli_gpus_per_worker


def least_milli(view: JobView) -> int:
    """The milli-GPUs of a training job's smallest gang."""
    return least_workers(view) * milli_per_worker(view)


def held_by_node(snapshot: Snapshot) -> Counter[str]:
    """The milli-GPUs that jobs' placements take of each node, by its name."""
    held: Counter[str] = Counter()
    for view in snapshot.jobs:
        placement, milli = view.resource.status.placement, view.resource.spec.milli_gpus_by_role
        for each in placement.assignments if placement else ():
            for name in each.nodes:
                held[name] += milli.get(each.role, 0)
    return held
