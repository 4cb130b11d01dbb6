"""JobQueues of Cohorts and ClusterQueues."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from plimsoll.api.definition import API_VERSION
from plimsoll.api.values.quantities import quantity_text
from plimsoll.cli.importing.kueue.capacity import Share
from plimsoll.cli.importing.kueue.objects import ClusterQueue, LocalQueue
from plimsoll.cli.importing.kueue.tree import Member
from plimsoll.cli.importing.notes import Note, note
from plimsoll.kube.objects.objects import LabelSelector
from plimsoll.observe.queue_access import DEFAULT_QUEUE, NAMESPACE_NAME

Raw = dict[str, Any]
_LARGEST_WEIGHT: Final = 1_000_000
_NOBODY: Final = {"matchExpressions": [{"key": NAMESPACE_NAME, "operator": "DoesNotExist"}]}
"""Selects nothing: every namespace has a label with its name."""


def job_queue(
    member: Member,
    shares: Mapping[str, Mapping[str, Share]],
    weight: int,
    users: Sequence[LocalQueue],
    *,
    is_closed: bool = False,
) -> Raw:
    """The manifest of a member's JobQueue; a closed one admits no jobs."""
    above = shares[member.parent] if member.parent else None
    spec: Raw = {"parent": member.parent} if member.parent else {}
    if isinstance(member.source, ClusterQueue):
        selector = _selector(member.source, users)
        spec |= {"namespaceSelector": selector} if selector else {}
        if is_closed or member.source.spec.stop_policy != "None":
            spec["maxJobs"] = 0
    else:
        # No LocalQueue can point at a Cohort.
        spec["namespaceSelector"] = _NOBODY
    spec |= {"weight": weight} if weight != 1 else {}
    quotas = [
        _quota(kind, share, above[kind] if above else None)
        for kind, share in sorted(shares[member.name].items())
    ]
    spec |= {"quotas": found} if (found := [each for each in quotas if each]) else {}
    meta = {"name": member.name}
    return {"apiVersion": API_VERSION, "kind": "JobQueue", "metadata": meta, "spec": spec}


def _quota(kind: str, share: Share, above: Share | None) -> Raw | None:
    """A quota; None if it says no more than that of the parent, whose limit holds for both."""
    found: Raw = {"type": kind}
    if share.guaranteed:
        found["guaranteed"] = _plain(share.guaranteed)
    if above is None or share.limit < above.limit:
        found["limit"] = _plain(share.limit)
    return found if len(found) > 1 else None


def _plain(amount: Decimal) -> int | str:
    return int(amount) if amount == amount.to_integral_value() else quantity_text(amount)


def _selector(queue: ClusterQueue, users: Sequence[LocalQueue]) -> Raw | None:
    """The namespaces that have a LocalQueue, as far as the ClusterQueue selects them."""
    selector = queue.spec.namespace_selector
    if selector is None:
        return _NOBODY
    expressions: list[Raw] = _expressions(selector)
    names = sorted({each.metadata.namespace for each in users})
    if names:
        expressions.append({"key": NAMESPACE_NAME, "operator": "In", "values": names})
    found: Raw = {"matchLabels": dict(selector.match_labels)} if selector.match_labels else {}
    return found | ({"matchExpressions": expressions} if expressions else {}) or None


def _expressions(selector: LabelSelector) -> list[Raw]:
    return [
        {"key": each.key, "operator": each.operator}
        | ({"values": [*each.values]} if each.values else {})
        for each in selector.match_expressions
    ]


def access_notes(queue: ClusterQueue, users: Sequence[LocalQueue]) -> list[Note]:
    """What is not as in Kueue about who may use a queue."""
    found: list[str] = []
    if queue.spec.namespace_selector is None:
        found.append("spec.namespaceSelector: is null, which admits no namespace: set it to admit")
    elif not users:
        said = "metadata.name: no LocalQueue points at it: its JobQueue admits every namespace that"
        found.append(f"{said} spec.namespaceSelector selects: narrow it in the JobQueue")
    if queue.metadata.name == DEFAULT_QUEUE:
        said = "metadata.name: JobQueue default is also that of all jobs that name no queue"
        found.append(f"{said}: rename it, unless that is meant")
    return [note(queue, each) for each in found]


def weights(members: Sequence[Member]) -> tuple[dict[str, int], list[Note]]:
    """Whole weights in the proportion of the siblings' own, which may be fractions."""
    siblings: defaultdict[str | None, list[Member]] = defaultdict(list)
    for each in members:
        siblings[each.parent].append(each)
    found: dict[str, int] = {}
    notes: list[Note] = []
    for those in siblings.values():
        own = {each.name: _weight(each, notes) for each in those}
        scale = Fraction(math.lcm(*(each.denominator for each in own.values())))
        scale /= math.gcd(*(int(each * scale) for each in own.values()))
        scale = min(scale, _LARGEST_WEIGHT / max(own.values()))
        found |= {name: max(1, round(each * scale)) for name, each in own.items()}
    return found, notes


def _weight(member: Member, notes: list[Note]) -> Fraction:
    weight = member.source.spec.fair_sharing.weight if member.source else None
    if member.source is None or weight is None:
        return Fraction(1)
    if not weight:
        text = "spec.fairSharing.weight: 0 is no weight here: the JobQueue has a tiny one"
        notes.append(note(member.source, f"{text}: lower its limit if it must not borrow"))
        return Fraction(1, _LARGEST_WEIGHT)
    return Fraction(weight)
