"""Look up a job of a snapshot by the name that a user types."""

from plimsoll.cli.job_names import JobKey, Workload, job_named
from plimsoll.errors import BadInput, NothingFound
from plimsoll.observe.snapshot import JobView, Snapshot


def job_called(snapshot: Snapshot, text: str, namespace: str | None) -> JobView:
    """The one job of that name, or that stands for the workload of that name.

    Raises BadInput, which names the candidates.
    """
    views = {_key(view): view for view in snapshot.jobs}
    there = {key: _workload(view) for key, view in views.items()}
    try:
        return views[job_named(text, namespace, there)]
    except NothingFound as error:
        raise BadInput(error.problems) from error


def _key(view: JobView) -> JobKey:
    meta = view.resource.metadata
    return JobKey(view.resource.kind, meta.namespace, meta.name)


def _workload(view: JobView) -> Workload | None:
    ref = view.training.spec.workload_ref if view.training is not None else None
    return Workload(ref.kind, ref.name) if ref is not None else None
