"""What a waiting job asks for: its least size, or one replica of a role that has too few."""

from dataclasses import replace

from plimsoll_placement.model import Assignments, Job, JobName, Role
from plimsoll_placement.placing.shortfall import missing
from plimsoll_placement.state.ledger import Ledger

ALL_PERCENT = 100


def starts(job: Job) -> tuple[Job, ...]:
    """The ways in which a job could start: as it is, or with a single replica if it can idle.

    None if nothing of it is wanted.
    """
    if any(role.least for role in job.roles):
        return (job,)
    return tuple(_one_replica(job, role) for role in job.roles if missing(role, ()))


def asks(ledger: Ledger, job: Job, held: Assignments) -> tuple[Job, ...]:
    """The ways in which a job could start or, beside what it holds, grow."""
    if not held:
        return starts(job)
    if job.gang:
        return ()
    index, spot = ledger.problem.node_index, ledger.spot
    on_spot = sum(any(n in index and spot[index[n]] for n in a.nodes) for a in held)
    may_be_spot = (on_spot + 1) * ALL_PERCENT <= job.spot_percent * (len(held) + 1)
    more = replace(job, spot_percent=ALL_PERCENT if may_be_spot else 0)
    return tuple(_one_replica(more, role) for role in job.roles if missing(role, held))


def _one_replica(job: Job, role: Role) -> Job:
    """A separate job for one replica of a role."""
    name = JobName(f"{job.name} (one more {role.name})")
    return replace(job, name=name, roles=(replace(role, counts=(1,)),), running=())
