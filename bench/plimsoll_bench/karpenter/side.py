"""One side of the comparison: its gangs come, run and end, and its nodes come and go."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from control_plane import say
from plimsoll_bench.beside.book import GangBook
from plimsoll_bench.beside.watch import Watches
from plimsoll_bench.karpenter.gangs import GANG, Gang
from plimsoll_bench.karpenter.ledger import ClaimBook
from plimsoll_bench.karpenter.market import price_of
from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.karpenter.process import NODE_CLAIMS
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until

PODS = "/api/v1/namespaces/default/pods"
RUN_SECONDS = "plimsoll.dev/test-run-seconds"
NOT_FOUND = 404
GONE_SECONDS = 60


class NotAllRanError(Exception):
    """Some gangs have not run, or some nodes were not given back, in time."""


@dataclass(frozen=True, slots=True)
class Course:
    """When gangs come, how long they run, and when those give up whose workers do not all come."""

    gangs: Sequence[Gang]
    every_seconds: float
    run_seconds: int
    give_up_seconds: float
    timeout_seconds: float


@dataclass
class Side:
    """`submit` begins the nth attempt of a gang, from 1.

    A gang of which some workers wait in vain for the others gives up, as a rendezvous does that
    times out: its pods go, and come anew if nobody else makes them. Otherwise gangs that have some
    of their nodes each could wait for one another for ever.
    """

    name: str
    api: ApiServer
    course: Course
    submit: Callable[[Gang, int], None]
    claims: ClaimBook = field(default_factory=lambda: ClaimBook(price_of))
    books: dict[str, GangBook] = field(default_factory=dict[str, GangBook])
    _attempts: dict[str, int] = field(default_factory=dict[str, int])
    _ending: set[str] = field(default_factory=set[str])
    """The uids of pods that were told when to end."""

    def run(self) -> float:
        """Have all gangs run and all nodes given back; the seconds until the last gang had run.

        Raises NotAllRanError.
        """
        with Watches(self.api, PODS, NODE_CLAIMS) as watches:
            began = time.monotonic()
            self._until(lambda: self._step(watches, began), "all gangs have run")
            seconds = max(book.ended or 0.0 for book in self.books.values()) - began
            say(f"{self.name}: all gangs have run after {seconds:.0f} s")
            self._until(lambda: self._are_nodes_gone(watches), "all nodes are given back")
        return seconds

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        try:
            wait_until(condition, timeout_seconds=self.course.timeout_seconds, what=what)
        except TimeoutError as error:
            raise NotAllRanError(f"{self.name}: {error}; {self._left()}") from error

    def _step(self, watches: Watches, began: float) -> bool:
        """Take in what is new, and do what is due; whether all gangs have run."""
        self._see(watches)
        now = time.monotonic()
        due = 1 + int((now - began) / self.course.every_seconds)
        for gang in self.course.gangs[len(self.books) : due]:
            self.books[gang.name] = GangBook(gang.workers, asked=time.monotonic())
            self._begin(gang)
        for gang in self.course.gangs[: len(self.books)]:
            book = self.books[gang.name]
            if book.runs and not self._ending.issuperset(book.pods):
                self._let_end(book)
            elif book.half_seconds(now) > self.course.give_up_seconds:
                self._give_up(gang, book, watches)
        ended = sum(book.ended is not None for book in self.books.values())
        return ended == len(self.course.gangs)

    def _see(self, watches: Watches) -> None:
        for collection, event in watches.new():
            if collection == NODE_CLAIMS:
                self.claims.see(event)
            elif gang := event.object["metadata"].get("labels", {}).get(GANG):
                self.books[gang].see(event)

    def _begin(self, gang: Gang) -> None:
        attempt = self._attempts[gang.name] = self._attempts.get(gang.name, 0) + 1
        self.submit(gang, attempt)

    def _let_end(self, book: GangBook) -> None:
        """Have the pods of a gang that runs end after their time."""
        self._ending.update(book.pods)
        note = {RUN_SECONDS: str(self.course.run_seconds)}
        for pod in book.pods.values():
            self._annotate(pod, note)

    def _give_up(self, gang: Gang, book: GangBook, watches: Watches) -> None:
        """Stop the pods of a gang that waits in vain, and begin anew once they are gone."""
        say(f"{self.name}: {gang.name} gives up with {book.bound} of {gang.workers}")
        gone = {*book.pods}
        for pod in [*book.pods.values()]:
            self.api.delete(path_of(pod))

        def are_gone() -> bool:
            self._see(watches)
            return gone.isdisjoint(book.pods)

        wait_until(are_gone, timeout_seconds=GONE_SECONDS, what=f"the pods of {gang.name} are gone")
        self._begin(gang)

    def _annotate(self, pod: Manifest, note: Manifest) -> None:
        try:
            self.api.merge(path_of(pod), {"metadata": {"annotations": note}})
        except ApiServerRefusedError as error:
            if error.status != NOT_FOUND:  # Otherwise it was stopped meanwhile.
                raise

    def _are_nodes_gone(self, watches: Watches) -> bool:
        self._see(watches)
        return not self.claims.left

    def _left(self) -> str:
        """What has not come to an end."""
        gangs = [
            f"{name} has {book.bound} of {book.workers} nodes"
            for name, book in self.books.items()
            if book.ended is None
        ]
        return ", ".join([*gangs, f"{self.claims.left} NodeClaims are there"])


def path_of(pod: Manifest) -> str:
    """Where a pod is."""
    return f"{PODS}/{pod['metadata']['name']}"
