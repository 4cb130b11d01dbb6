"""Gangs that come all at once, work once all their workers run, and end."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from plimsoll_bench.beside.book import GangBook
from plimsoll_bench.beside.gangs import Gang
from plimsoll_bench.beside.watch import Watches
from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until

GANG = "example.com/gang"
"""The label that a gang's pods have; its value is the gang's name."""
PODS = "/api/v1/namespaces/default/pods"
RUN_SECONDS = "plimsoll.dev/test-run-seconds"
APPLIERS = 8
SHORTEST = 0.1
NOT_FOUND = 404


class NotAllEndedError(Exception):
    """Some gangs have not ended in time."""


@dataclass
class Course:
    """`submit` asks for a gang. What plays the kubelet ends its pods when their work is done."""

    api: ApiServer
    gangs: Sequence[Gang]
    submit: Callable[[Gang], object]
    timeout_seconds: float
    books: dict[str, GangBook] = field(default_factory=dict[str, GangBook])
    _ending: set[str] = field(default_factory=set[str])
    """The uids of pods that were told when to end."""

    def run(self) -> float:
        """Have all gangs come at once, and wait until all have ended; when they began to come.

        Raises NotAllEndedError.
        """
        with Watches(self.api, PODS) as watches, ThreadPoolExecutor(APPLIERS) as pool:
            began = time.monotonic()
            self.books.update(
                (gang.name, GangBook(gang.workers, asked=began)) for gang in self.gangs
            )
            asked = [pool.submit(self.submit, gang) for gang in self.gangs]
            try:
                wait_until(
                    lambda: self._step(watches, pool),
                    timeout_seconds=self.timeout_seconds,
                    what="all gangs have ended",
                )
            except TimeoutError as error:
                raise NotAllEndedError(f"{error}; {self._left()}") from error
            for each in asked:
                each.result()
        return began

    def _step(self, watches: Watches, pool: ThreadPoolExecutor) -> bool:
        """Take in what is new, and have those end that run; whether all have ended."""
        for _, event in watches.new():
            name = event.object["metadata"].get("labels", {}).get(GANG)
            if name in self.books:
                self.books[name].see(event)
        for gang in self.gangs:
            book = self.books[gang.name]
            if book.ended is None and book.runs and not self._ending.issuperset(book.pods):
                self._ending.update(book.pods)
                end = time.monotonic() + gang.seconds
                for pod in book.pods.values():
                    pool.submit(self._let_end, pod, end)
        return all(book.ended is not None for book in self.books.values())

    def _let_end(self, pod: Manifest, end: float) -> None:
        """Have a pod succeed at a time."""
        seconds = max(SHORTEST, end - time.monotonic())
        note = {"metadata": {"annotations": {RUN_SECONDS: f"{seconds:.2f}"}}}
        try:
            self.api.merge(f"{PODS}/{pod['metadata']['name']}", note)
        except ApiServerRefusedError as error:
            if error.status != NOT_FOUND:  # Otherwise it was stopped meanwhile.
                raise

    def _left(self) -> str:
        """What has not come to an end."""
        return ", ".join(
            f"{name} has {book.bound} of {book.workers} nodes"
            for name, book in self.books.items()
            if book.ended is None
        )
