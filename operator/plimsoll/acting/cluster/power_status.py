"""The status of a power domain: its draw, its budget, its caps and the jobs that they slow down."""

import math
from collections.abc import Iterable, Iterator
from datetime import datetime

from plimsoll.acting.conditions.conditions import Fact, whole_second, with_facts
from plimsoll.api.parts.conditions import condition
from plimsoll.api.power_domain import MOST_PAYERS, PowerDomainStatus
from plimsoll.api.values.scalars import MOST_WATTS
from plimsoll.naming import first_few
from plimsoll.observe.snapshot import NodeView, Snapshot
from plimsoll.planning.capping.reaction import WITHIN_BUDGET, Reaction
from plimsoll.vocabulary import metrics
from plimsoll.vocabulary.reasons import Reason

POWER_MEASURED = "PowerMeasured"
CAPS_APPLIED = "CapsApplied"
_GAUGES = (
    metrics.POWER_BUDGET_WATTS,
    metrics.POWER_PLANNED_WATTS,
    metrics.POWER_EXPECTED_WATTS,
    metrics.POWER_MEASURED_WATTS,
    metrics.POWER_SAVED_WATTS,
    metrics.POWER_UNKNOWN,
)


def power_status(reaction: Reaction, snapshot: Snapshot) -> PowerDomainStatus:
    """The new status of a domain."""
    domain = reaction.domain
    nodes = snapshot.nodes_by_domain[domain.metadata.name]
    capped = [node for node in nodes if node.limits.wanted is not None]
    meta, facts = domain.metadata, _facts(reaction, nodes)
    return domain.status.model_copy(
        update={
            "observed_generation": meta.generation,
            "conditions": with_facts(
                domain.status.conditions, facts, now=snapshot.now, generation=meta.generation
            ),
            "nodes": len(nodes),
            "budget_watts": _watts(reaction.planned_watts),
            "expected_watts": _watts(reaction.expected_watts),
            "measured_watts": _watts(reaction.measured_watts),
            "capped_watts": _watts(reaction.saved_watts) if capped else None,
            "capped_nodes": len(capped),
            "payers": _payers(capped, snapshot),
            "calm_since": _second(reaction.calm_since),
            "reduced_watts": _watts(reaction.reduced_watts),
            "reduced_time": _second(reaction.reduced_time),
        }
    )


def _watts(watts: int | None) -> int | None:
    """As many watts as a status can say."""
    return None if watts is None else max(0, min(watts, MOST_WATTS))


def _second(moment: datetime | None) -> datetime | None:
    return None if moment is None else whole_second(moment)


def _payers(capped: Iterable[NodeView], snapshot: Snapshot) -> tuple[str, ...]:
    """The jobs with pods on capped nodes, lowest priority first."""
    on_nodes = (snapshot.jobs_by_node.get(node.name, ()) for node in capped)
    jobs = {job.name: job for here in on_nodes for job in here}
    ordered = sorted(jobs.values(), key=lambda job: (job.priority or 0, job.name))
    return tuple(job.name for job in ordered[:MOST_PAYERS])


def _facts(reaction: Reaction, nodes: Iterable[NodeView]) -> tuple[Fact, ...]:
    measured = Fact.true(POWER_MEASURED, Reason.POWER_MEASURED, "the domain's draw is measured")
    if reaction.measured_watts is None:
        unknown = Fact.unknown if reaction.is_new else Fact.false
        measured = unknown(POWER_MEASURED, Reason.POWER_UNKNOWN, reaction.unknown)
    return _within(reaction), measured, _applied(nodes)


def _within(reaction: Reaction) -> Fact:
    budget = reaction.domain.spec.budget_watts
    unmeasured = reaction.measured_watts is None
    how = "expected" if unmeasured else "measured"
    message = f"the {how} draw is {reaction.drawn_watts} W of {budget} W"
    if reaction.planned_watts < budget:
        message += f"; plans keep to {reaction.planned_watts} W"
    if reaction.planned_watts > budget:
        message += f"; plans assign {reaction.planned_watts} W, and caps save the rest"
    if not reaction.overshoots:
        return Fact.true(WITHIN_BUDGET, Reason.WITHIN_BUDGET, message)
    reason = Reason.POWER_BUDGET if unmeasured else Reason.POWER_OVERSHOOT
    return Fact.false(WITHIN_BUDGET, reason, message)


def _applied(nodes: Iterable[NodeView]) -> Fact:
    capped = [node for node in nodes if node.limits.wanted is not None or node.limits.problem]
    refused = [node for node in capped if node.limits.problem]
    pending = [node for node in capped if not node.limits.is_applied]
    if refused:
        problem = f"{_named(refused)}: {refused[0].limits.problem}"
        return Fact.false(CAPS_APPLIED, Reason.CAP_REFUSED, problem)
    if pending:
        silent = all(not node.limits.reported for node in pending)
        who = "no agent has reported limits there" if silent else "the limits are not set yet"
        return Fact.false(CAPS_APPLIED, Reason.CAPS_PENDING, f"{_named(pending)}: {who}")
    if not capped:
        return Fact.true(CAPS_APPLIED, Reason.CAPS_APPLIED, "no GPU needs a limit")
    text = f"the limits of {counted(len(capped))} are set"
    return Fact.true(CAPS_APPLIED, Reason.CAPS_APPLIED, text)


def counted(nodes: int) -> str:
    """The number of nodes, in words."""
    return "1 node" if nodes == 1 else f"{nodes} nodes"


def _named(nodes: list[NodeView]) -> str:
    return first_few([node.name for node in nodes])


def power_events(
    old: PowerDomainStatus, new: PowerDomainStatus
) -> Iterator[tuple[Reason, str, bool]]:
    """The changes between two statuses as events: the reason, the message, whether it warns."""
    for kind in (WITHIN_BUDGET, POWER_MEASURED, CAPS_APPLIED):
        before, now = condition(old.conditions, kind), condition(new.conditions, kind)
        is_first = before is None or before.status == "Unknown"
        if now is None or now.status == "Unknown" or (is_first and now.status == "True"):
            continue
        if before is None or (before.status, before.reason) != (now.status, now.reason):
            yield Reason(now.reason), now.message, now.status != "True"
    if new.capped_nodes and not old.capped_nodes:
        who = f" They run {', '.join(new.payers)}." if new.payers else ""
        yield Reason.POWER_CAPPED, f"GPUs of {counted(new.capped_nodes)} are limited.{who}", False
    if old.capped_nodes and not new.capped_nodes:
        yield Reason.POWER_RELEASED, "GPUs are no longer limited", False
    if new.reduced_watts is None and old.reduced_watts is not None:
        yield Reason.BUDGET_RESTORED, "plans use the whole budget again", False
    if new.reduced_watts is not None and new.reduced_watts < (old.reduced_watts or math.inf):
        text = f"plans assign only {new.reduced_watts} W, because limits on GPUs are not enough"
        yield Reason.BUDGET_REDUCED, text, True


def count_power(reactions: Iterable[Reaction], snapshot: Snapshot) -> None:
    """Set the power metrics."""
    for gauge in _GAUGES:
        gauge.clear()
    for reaction in reactions:
        name = reaction.domain.metadata.name
        measured = reaction.measured_watts
        metrics.POWER_BUDGET_WATTS.labels(name).set(reaction.domain.spec.budget_watts)
        metrics.POWER_PLANNED_WATTS.labels(name).set(reaction.planned_watts)
        metrics.POWER_EXPECTED_WATTS.labels(name).set(reaction.expected_watts)
        metrics.POWER_MEASURED_WATTS.labels(name).set(math.nan if measured is None else measured)
        metrics.POWER_SAVED_WATTS.labels(name).set(reaction.saved_watts)
        metrics.POWER_UNKNOWN.labels(name).set(measured is None)
    capped = [node for node in snapshot.nodes if node.limits.wanted is not None]
    metrics.CAPPED_NODES.set(len(capped))
    metrics.CAPS_NOT_APPLIED.set(sum(not node.limits.is_applied for node in capped))
