"""What a gang loses across domains, where worth is no longer in proportion to speed.

A gang across several domains of its preferred level loses a share of its speed. Where worth is a
power of speed, it loses less of its worth. And a size that no domain can hold has no other way: its
rate is what it is across domains, so that it loses nothing more.
"""

from dataclasses import replace

from plimsoll.planning.cluster.domain_sizes import DomainSizes
from plimsoll_placement.estimate.elastic.worth import WorthTerms
from plimsoll_placement.model import Job, Weights

_WHOLE = 100
_TOPOLOGY_PERCENT = Weights().topology_percent


def with_fair_crossing(job: Job, domains: DomainSizes) -> Job:
    """A gang with what its yields, which are worths (`completion.py`), lose across domains."""
    level, (role, *others) = job.preferred_level, job.roles
    if level is None:
        return job
    lost = {
        kind: lost_worth_percent(job.crossing_percent.get(kind, _TOPOLOGY_PERCENT))
        for kind in role.yields
    }
    largest = domains.largest(level, role.shape.gpu_milli)
    yields = {
        kind: tuple(
            milli if count <= largest.get(kind, count) else milli * _WHOLE // (_WHOLE - lost[kind])
            for count, milli in zip(role.counts, of, strict=True)
        )
        for kind, of in role.yields.items()
    }
    roles = (replace(role, yields=yields), *others)
    return replace(job, roles=roles, crossing_percent=lost)


def lost_worth_percent(speed_percent: int) -> int:
    """The percentage of worth that is lost with so much of the speed, less than all of it."""
    kept = 1 - speed_percent / _WHOLE
    return min(round(_WHOLE * (1 - kept ** WorthTerms().fairness)), _WHOLE - 1)
