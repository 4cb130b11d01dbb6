"""Which changes let a job run? Proven: each set is planned again, and so is every part of it."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from plimsoll_placement.explain.again import NOTHING, Again, Replanned
from plimsoll_placement.explain.changes.changes import Change
from plimsoll_placement.explain.changes.joining import subject
from plimsoll_placement.explain.changes.relaxing import Relaxation, relaxations
from plimsoll_placement.explain.shares import with_shares
from plimsoll_placement.model import Assignments, Job, JobName

MOST_PROOFS = 3
Changes = frozenset[Change]


@dataclass(frozen=True, slots=True)
class Proof:
    """Changes under which a job runs when all is planned again, and under no part of them does.

    `seats`: where it would run. `displaced`: those who would lose or change their place by it.
    `is_certain`: that no part suffices is proven by bounds, and not only that none was found.
    `others_stay`: with all others pinned to their places, for else they would take what is freed.
    """

    relaxation: Relaxation
    assignments: Assignments
    displaced: tuple[JobName, ...]
    is_certain: bool
    others_stay: bool = False

    def sentence(self) -> str:
        """What to do, as an imperative without a full stop."""
        if self.relaxation.changes:
            return self.relaxation.sentence()
        return "let others move" if self.displaced else "nothing: there is room for it"


class Prover:
    """Tries changes for one job; what was planned once is not planned again."""

    def __init__(self, again: Again, job: Job) -> None:
        self.again = again
        self.job = job
        self._known: dict[Changes, Replanned] = {}

    def planned(self, changes: tuple[Change, ...]) -> Replanned:
        """The plan once these changes are made."""
        key = frozenset(changes)
        if key not in self._known:
            relaxation = Relaxation(changes) if changes else NOTHING
            self._known[key] = self.again.plan(self.job, relaxation)
        return self._known[key]

    def proof(self, relaxation: Relaxation) -> Proof | None:
        """The smallest part of the changes that suffices; None if not even all do."""
        for part in parts(relaxation):
            planned = self.planned(part)
            if planned.runs:
                return self._proof(part, planned)
        return None

    def proof_with_shares(self, relaxation: Relaxation) -> Proof | None:
        """The same, where the job has its place but its queues' fair shares keep it out."""
        more = with_shares(self.again.problem, self.again.placements, self.job, relaxation)
        return None if more == relaxation else self.proof(more)

    def any_proof(self, relaxation: Relaxation) -> Proof | None:
        """The one or else the other."""
        return self.proof(relaxation) or self.proof_with_shares(relaxation)

    def _proof(self, changes: tuple[Change, ...], planned: Replanned) -> Proof:
        less = [self.planned(part) for part in parts(Relaxation(changes)) if part != changes]
        return Proof(
            relaxation=Relaxation(changes),
            assignments=planned.assignments,
            displaced=displaced(planned),
            is_certain=all(each.is_certain for each in less),
        )


def proofs(again: Again, job: Job, most: int = MOST_PROOFS) -> tuple[Proof, ...]:
    """Sets of changes that are proven to let a waiting job run, the smallest first.

    One with no changes at all says that there is room, though perhaps only where others move; then
    the further sets are for a cluster in which they stay. Empty if no changes are known that help.
    """
    prover, firm = Prover(again, job), Prover(again.firm(), job)
    at_once = _at_once(prover, firm)
    if at_once is not None and not at_once.displaced:
        return (at_once,)
    found: dict[Hashable, Proof] = {} if at_once is None else {frozenset(): at_once}
    for relaxation in relaxations(again.problem, again.placements, job) or (NOTHING,):
        proof = None if at_once else prover.any_proof(relaxation)
        proof = proof or _firm_proof(firm, relaxation)
        if proof is not None:
            found.setdefault(frozenset(map(subject, proof.relaxation.changes)), proof)
        if len(found) >= most:
            break
    return tuple(sorted(found.values(), key=lambda proof: len(proof.relaxation.changes)))


def _at_once(prover: Prover, firm: Prover) -> Proof | None:
    """How the job runs though nothing changes: if it can be, though nobody moves either."""
    proof = prover.proof(NOTHING)
    if proof is None or not proof.displaced:
        return proof
    unmoved = firm.proof(NOTHING)
    return proof if unmoved is None else replace(unmoved, others_stay=True)


def _firm_proof(firm: Prover, relaxation: Relaxation) -> Proof | None:
    proof = firm.any_proof(relaxation)
    return None if proof is None else replace(proof, others_stay=True)


def parts(relaxation: Relaxation) -> Iterator[tuple[Change, ...]]:
    """Every part of the changes, the smallest first and all of them last."""
    for size in range(len(relaxation.changes) + 1):
        yield from combinations(relaxation.changes, size)


def displaced(planned: Replanned) -> tuple[JobName, ...]:
    """The jobs that have lost or changed their place in a plan."""
    return tuple(
        job.name
        for job in planned.problem.jobs
        if set(job.running) - set(planned.solution.placements.get(job.name, ()))
    )
