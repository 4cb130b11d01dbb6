"""The queues: their quotas, what they use, and who waits in them."""

from collections import defaultdict
from collections.abc import Iterator

from plimsoll.api.job_queue import JobQueue, Quota, QuotaUsage
from plimsoll.api.parts.conditions import condition
from plimsoll_console.messages.queue import QueueQuota, Queues, QueueState
from plimsoll_console.views.sight import Sight
from plimsoll_console.views.stamps import Stamp


def queues_of(sight: Sight, stamp: Stamp) -> Queues:
    """The queues by name; none where they may not be seen."""
    queues = sight.snapshot.queues if sight.rights.queues else ()
    return Queues(*stamp, queues=tuple(_state(sight, queue) for queue in queues))


def _state(sight: Sight, queue: JobQueue) -> QueueState:
    active = condition(queue.status.conditions, "Active")
    return QueueState(
        name=queue.metadata.name,
        parent=queue.spec.parent,
        weight=queue.spec.weight,
        active=active is None or active.status == "True",
        reason=active.reason if active else "",
        message=sight.text(active.message) if active else "",
        pending=queue.status.pending,
        admitted=queue.status.admitted,
        quotas=tuple(_quotas(queue)),
    )


def _quotas(queue: JobQueue) -> Iterator[QueueQuota]:
    quotas = defaultdict[str, Quota | None](lambda: None)
    quotas.update({quota.type: quota for quota in queue.spec.quotas})
    usages = {usage.type: usage for usage in queue.status.usage}
    for name in sorted({*quotas, *usages}):
        quota, usage = quotas[name], usages.get(name) or QuotaUsage(type=name)
        limit = quota.limit if quota is not None else None
        yield QueueQuota(
            type=name,
            used=float(usage.used),
            guaranteed=float(quota.guaranteed) if quota is not None else 0.0,
            limit=None if limit is None else float(limit),
            borrowed=float(usage.borrowed),
            average=float(usage.average),
            fair_share=float(usage.fair_share),
        )
