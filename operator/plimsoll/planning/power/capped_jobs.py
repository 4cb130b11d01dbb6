"""Report the jobs whose GPUs are power-capped: for which domain, and how much slower they run."""

from collections.abc import Iterable, Mapping
from statistics import fmean

from plimsoll.observe.snapshot import JobName, JobView, NodeView, Snapshot
from plimsoll.planning.power.capped import CAP
from plimsoll.planning.power.loads import servers_of, uses_of, uses_until_gone
from plimsoll_placement.estimate.capping.domain import Server
from plimsoll_placement.estimate.capping.throughput import throughput_share
from plimsoll_placement.problem import Problem


def capped_jobs(snapshot: Snapshot, problem: Problem) -> Mapping[JobName, str]:
    """The jobs with GPUs under limits in force, each with a sentence about them.

    It states the watts of limits and budgets but not of draw, so it changes only when a limit does.
    """
    nodes = {node.name: node for node in snapshot.nodes if node.cap_watts is not None}
    if not nodes:
        return {}
    servers = servers_of(
        snapshot, nodes.values(), uses_until_gone(uses_of(problem), problem, snapshot)
    )
    capped = {s.name: s for s in servers if s.cap_watts is not None}
    found: dict[JobName, str] = {}
    for view in snapshot.present if capped else ():
        at = {pod.node for pod in view.pods if pod.node and not pod.is_over}
        mine = [capped[name] for name in sorted(at & capped.keys())]
        if mine:
            domains = _domains((nodes[s.name] for s in mine), snapshot)
            found[view.name] = f"{_limits(mine, len(at))}{domains}; {_loss(view, mine, len(at))}"
    return found


def _limits(servers: Iterable[Server], nodes: int) -> str:
    watts = [s.cap_watts for s in servers if s.cap_watts is not None]
    least, most = min(watts), max(watts)
    span = f"{least} W" if least == most else f"{least} to {most} W"
    if nodes == 1:
        return f"its node is limited to {span} a GPU"
    return f"{len(watts)} of {nodes} nodes are limited to {span} a GPU"


def _domains(nodes: Iterable[NodeView], snapshot: Snapshot) -> str:
    """The domains for whose sake this is done, among those whose reaction includes caps."""
    there = {name for node in nodes for name in snapshot.domains_by_node[node.name]}
    names = [
        f"{domain.metadata.name} stays within its budget of {domain.spec.budget_watts} W"
        for domain in snapshot.power_domains
        if CAP in domain.spec.reaction.order and domain.metadata.name in there
    ]
    return f" so that power domain {' and '.join(names)}" if names else ""


def _loss(view: JobView, capped: Iterable[Server], nodes: int) -> str:
    """A gang waits for its slowest worker; replicas each lose on their own."""
    shares = [_share(server) for server in capped]
    whole = [1.0] * (nodes - len(shares))
    left = min(shares) if view.training is not None else fmean([*shares, *whole])
    percent = round(100 * (1 - left))
    return f"about {percent} % slower" if percent else "hardly slower"


def _share(server: Server) -> float:
    assert server.cap_watts is not None  # noqa: S101 - only called with one
    return throughput_share(
        server.cap_watts,
        idle_watts=server.idle_watts,
        draw_watts=server.draw_watts,
        exponent=server.exponent,
    )
