"""The cluster in short."""

from collections import Counter
from collections.abc import Iterator

from plimsoll.api.parts.conditions import condition
from plimsoll.api.placement_policy import PlacementPolicy
from plimsoll.observe.snapshot import Snapshot
from plimsoll_console.messages.cluster import Advice, Cluster, Counts, PlanFigures, TypeCounts
from plimsoll_console.views.holdings import (
    all_units,
    holdings_of,
    is_waiting,
    other_units,
    price_of,
    state_of,
    type_of,
)
from plimsoll_console.views.sight import Sight, named_key
from plimsoll_console.views.stamps import Stamp


def cluster_of(sight: Sight, stamp: Stamp) -> Cluster:
    """The cluster in short."""
    snapshot, rights = sight.snapshot, sight.rights
    policy = snapshot.policy if rights.policy else None
    types = tuple(_types(snapshot))
    expected, measured = _watts(snapshot) if rights.power_domains else (None, None)
    return Cluster(
        *stamp,
        mode=policy.spec.mode if policy else None,
        objective=policy.spec.objective.preset if policy else None,
        plan=plan_figures(policy),
        counts=_counts(snapshot, types),
        types=types,
        dollars_per_hour=_dollars(snapshot) if rights.pools else None,
        expected_watts=expected,
        measured_watts=measured,
        problems=tuple(map(sight.text, _problems(snapshot))) if rights.policy else (),
        advice=tuple(_advice(sight, policy)) if policy else (),
    )


def plan_figures(policy: PlacementPolicy | None) -> PlanFigures | None:
    """The last plan; None while there is none."""
    plan = policy.status.last_plan if policy is not None else None
    if plan is None:
        return None
    gap = None if plan.gap_percent is None else float(plan.gap_percent)
    return PlanFigures(plan.time, gap, plan.admitted, plan.held, plan.actions)


def _advice(sight: Sight, policy: PlacementPolicy) -> Iterator[Advice]:
    """What a plan that is only published would do with the jobs that may be seen."""
    if policy.spec.mode != "Advise":
        return
    for each in policy.status.actions:
        if each.job.count("/") >= 2 and sight.named(each.job):  # noqa: PLR2004 - kind/namespace/name
            yield Advice(named_key(each.job), each.action, each.reason, sight.text(each.message))


def _counts(snapshot: Snapshot, types: tuple[TypeCounts, ...]) -> Counts:
    nodes = [node for node in snapshot.nodes if node.offers]
    states = Counter(state_of(view) for view in snapshot.jobs)
    return Counts(
        nodes=len(nodes),
        nodes_ready=sum(node.state.open for node in nodes),
        gpus_milli=sum(each.gpus_milli for each in types),
        taken_milli=sum(each.jobs_milli + each.others_milli for each in types),
        useful_milli=_useful(snapshot),
        jobs_running=states["Running"],
        jobs_waiting=sum(map(is_waiting, snapshot.jobs)),
    )


def _types(snapshot: Snapshot) -> Iterator[TypeCounts]:
    total, jobs, others = Counter[str](), Counter[str](), Counter[str]()
    held = holdings_of(snapshot)
    for node in snapshot.nodes:
        for offer in node.offers:
            name, units = type_of(snapshot, node, offer), offer.share_milli
            total[name] += all_units(offer) * units
            others[name] += other_units(node, offer) * units
            here = (each for each in held.get(node.name, ()) if each.resource == offer.resource)
            jobs[name] += sum(each.units for each in here) * units
    for name in sorted(total):
        yield TypeCounts(name, total[name], jobs[name], others[name])


def _useful(snapshot: Snapshot) -> int:
    """The milli-GPUs of pods that run."""
    return sum(
        each.units * offer.share_milli
        for name, held in holdings_of(snapshot).items()
        if name in snapshot.node_by_name
        for offer in snapshot.node_by_name[name].offers
        for each in held
        if each.resource == offer.resource and each.phase == "Running"
    )


def _dollars(snapshot: Snapshot) -> float:
    """What all nodes cost an hour whose price is known."""
    return round(
        sum(
            (price_of(snapshot, node.name) or 0.0) * offer.count
            for node in snapshot.nodes
            for offer in node.offers
        ),
        4,
    )


def _watts(snapshot: Snapshot) -> tuple[int | None, int | None]:
    """The expected and measured draw of all domains; None if they overlap, or one is unknown."""
    overlap = any(len(names) > 1 for names in snapshot.domains_by_node.values())
    if overlap or not snapshot.power_domains:
        return None, None
    measured = [domain.status.measured_watts for domain in snapshot.power_domains]
    known = [watts for watts in measured if watts is not None]
    expected = sum(domain.status.expected_watts for domain in snapshot.power_domains)
    return expected, sum(known) if len(known) == len(measured) else None


def _problems(snapshot: Snapshot) -> Iterator[str]:
    policy = snapshot.policy
    refused = [each for each in snapshot.refused if each.kind == PlacementPolicy.definition.kind]
    for each in refused:
        yield f"{each.kind} cannot be read: {each.why}"
    planned = condition(policy.status.conditions, "Planned") if policy else None
    if planned is not None and planned.status != "True":
        yield planned.message or planned.reason
