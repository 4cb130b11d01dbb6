"""Prove which changes let a job run: plan again under each set of them and each of its subsets."""

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
    """Changes with which a job runs when all is planned again, while no subset is enough.

    `assignments`: where it would run. `displaced`: jobs that would lose or change their place by
    it. `is_certain`: bounds prove that no subset suffices, rather than none having been found.
    `others_stay`: with all others pinned to their places, as otherwise they would take what is
    freed.
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
    """Tries changes for one job; no plan is computed twice."""

    def __init__(self, again: Again, job: Job) -> None:
        self.again = again
        self.job = job
        self._known: dict[Changes, Replanned] = {}

    def planned(self, changes: tuple[Change, ...]) -> Replanned:
        """The plan after these changes."""
        key = frozenset(changes)
        if key not in self._known:
            relaxation = Relaxation(changes) if changes else NOTHING
            self._known[key] = self.again.plan(self.job, relaxation)
        return self._known[key]

    def proof(self, relaxation: Relaxation) -> Proof | None:
        """The smallest subset of the changes that suffices; None if not even all of them do."""
        for part in parts(relaxation):
            planned = self.planned(part)
            if planned.runs:
                return self._proof(part, planned)
        return None

    def proof_with_shares(self, relaxation: Relaxation) -> Proof | None:
        """The same for a job that has room but is kept out by its queues' fair shares."""
        more = with_shares(self.again.problem, self.again.placements, self.job, relaxation)
        return None if more == relaxation else self.proof(more)

    def any_proof(self, relaxation: Relaxation) -> Proof | None:
        """Whichever of the two exists, the first preferred."""
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

    A set with no changes means that there is room, though perhaps only if others move; then the
    further sets are for a cluster in which they stay. Empty if no changes are known that help.
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
    """How the job runs although nothing changes: preferably with no other job moved."""
    proof = prover.proof(NOTHING)
    if proof is None or not proof.displaced:
        return proof
    unmoved = firm.proof(NOTHING)
    return proof if unmoved is None else replace(unmoved, others_stay=True)


def _firm_proof(firm: Prover, relaxation: Relaxation) -> Proof | None:
    proof = firm.any_proof(relaxation)
    return None if proof is None else replace(proof, others_stay=True)


def parts(relaxation: Relaxation) -> Iterator[tuple[Change, ...]]:
    """Every subset of the changes, the smallest first and the whole set last."""
    for size in range(len(relaxation.changes) + 1):
        yield from combinations(relaxation.changes, size)


def displaced(planned: Replanned) -> tuple[JobName, ...]:
    """The jobs that a plan moves or leaves without a place."""
    return tuple(
        job.name
        for job in planned.problem.jobs
        if set(job.running) - set(planned.solution.placements.get(job.name, ()))
    )
