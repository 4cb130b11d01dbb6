"""The logs of all pods of a job at once, each line behind the name of its pod.

Pods that come later, because a gang restarts, moves or grows, are followed like those that were
there; it ends when the job does.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from plimsoll.cli.jobs.pods import role_of
from plimsoll.errors import BadInput, Invalid, NotFound, PlimsollError
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.logs import Container, ContainerLog, LogLine, LogQuery, LogTerms, State
from plimsoll.kube.objects.objects import ContainerStatus, Pod

MOST_AT_ONCE: Final = 64
"""Connections at once, unless the user says otherwise."""
_AHEAD: Final = 1000
"""Lines read ahead of those that are printed, for each pod."""
_ENDED: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class LogChoice:
    """Which logs: of which role and container, which part, and how many of them at once."""

    query: LogQuery
    role: str = ""
    container: str = ""
    at_once: int = MOST_AT_ONCE


@dataclass(frozen=True, slots=True)
class PodLine:
    """A line of a pod's log."""

    pod: str
    line: LogLine


@dataclass(frozen=True, slots=True)
class Followed:
    """The pods of a job as they are now, and whether it is over, so that no more will come."""

    pods: tuple[Pod, ...]
    job_is_over: bool


def chosen(pods: Iterable[Pod], choice: LogChoice) -> tuple[Pod, ...]:
    """The pods of the role. Raises BadInput if there are pods, but none of that role."""
    pods = tuple(pods)
    found = tuple(pod for pod in pods if choice.role in ("", role_of(pod)))
    if pods and not found:
        roles = ", ".join(sorted({role_of(pod) for pod in pods} - {""}))
        raise BadInput([f"--role {choice.role}: no pod has this role: use one of {roles}"])
    return found


def container_of(pod: Pod, choice: LogChoice) -> str:
    """The container whose log is asked for: the first, unless one is named. Raises BadInput."""
    own = [each.name for each in pod.spec.containers]
    names = own + [each.name for each in pod.spec.init_containers]
    if choice.container and choice.container not in names:
        listed = ", ".join(names)
        said = f"-c {choice.container}: pod {pod.metadata.name} has no such container"
        raise BadInput([f"{said}: use one of {listed}"])
    return choice.container or next(iter(own), "")


def has_started(pod: Pod, container: str) -> bool:
    """Whether there is a log of a container."""
    status = _status(pod, container)
    return status is not None and (status.state.waiting is None or status.restart_count > 0)


def state_of(pod: Pod | None, container: str, *, job_is_over: bool) -> State:
    """Whether a container runs; None is a pod that is gone."""
    status = None if pod is None else _status(pod, container)
    if pod is None or status is None or pod.status.phase in _ENDED:
        return State.OVER
    if status.state.terminated is None and status.state.waiting is None:
        return State.RUNNING
    return State.OVER if job_is_over else State.RESTING


def _status(pod: Pod, container: str) -> ContainerStatus | None:
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return next((each for each in statuses if each.name == container), None)


Note = Callable[[str], None]
"""Says something beside the logs."""


async def logs_now(
    client: KubeClient,
    pods: Iterable[Pod],
    choice: LogChoice,
    note: Note,
    terms: LogTerms | None = None,
) -> AsyncGenerator[PodLine]:
    """What the pods have logged by now, pod by pod. Raises ApiError, and BadInput."""
    turns, readers = asyncio.Semaphore(choice.at_once), list[_Reader]()
    for pod in chosen(pods, choice):
        container = container_of(pod, choice)
        if has_started(pod, container):
            readers.append(_Reader(pod, _log(client, pod, container, choice, terms)))
        else:
            note(f"{pod.metadata.name}: {container} has not started, so there is no log of it")
    async with _running(*(each.run(turns, note) for each in readers)):
        for reader in readers:
            async with aclosing(_given(reader.lines)) as lines:
                async for line in lines:
                    yield line


async def logs_followed(
    client: KubeClient,
    states: AsyncGenerator[Followed],
    choice: LogChoice,
    note: Note,
    terms: LogTerms | None = None,
) -> AsyncGenerator[PodLine]:
    """What the pods log, as it comes, until the job is over and all is read.

    Raises ApiError, and BadInput.
    """
    following = _Following(client, choice, note, terms)
    async with _running(following.run(states)), aclosing(_given(following.lines)) as lines:
        async for line in lines:
            yield line


def _log(
    client: KubeClient, pod: Pod, container: str, choice: LogChoice, terms: LogTerms | None
) -> ContainerLog:
    meta = pod.metadata
    at = Container(meta.namespace, meta.name, meta.uid, container)
    return ContainerLog(client, at, choice.query, terms)


Item = PodLine | PlimsollError | None
"""A line, what went wrong, or the end."""


async def _given(items: "asyncio.Queue[Item]") -> AsyncGenerator[PodLine]:
    while (item := await items.get()) is not None:
        if isinstance(item, PlimsollError):
            raise item
        yield item


@asynccontextmanager
async def _running(*parts: Coroutine[None, None, None]) -> AsyncGenerator[None]:
    tasks = [asyncio.create_task(each) for each in parts]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Reader:
    """Reads a pod's log in its turn, a little ahead of what is printed."""

    def __init__(self, pod: Pod, log: ContainerLog) -> None:
        self._name, self._log = pod.metadata.name, log
        self.lines = asyncio.Queue[Item](_AHEAD)

    async def run(self, turns: asyncio.Semaphore, note: Note) -> None:
        """Read it all."""
        async with turns:
            try:
                async with aclosing(self._log.lines()) as lines:
                    async for line in lines:
                        await self.lines.put(PodLine(self._name, line))
            except (NotFound, Invalid) as error:
                note(f"{self._name}: {error}")
            except PlimsollError as error:
                await self.lines.put(error)
        await self.lines.put(None)


class _Following:
    """Follows the container of each pod, as many at once as there may be."""

    def __init__(
        self, client: KubeClient, choice: LogChoice, note: Note, terms: LogTerms | None
    ) -> None:
        self._client, self._choice, self._note, self._terms = client, choice, note, terms
        self._turns = asyncio.Semaphore(choice.at_once)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._now = Followed((), job_is_over=False)
        self.lines = asyncio.Queue[Item](_AHEAD)

    async def run(self, states: AsyncGenerator[Followed]) -> None:
        """Follow them until the job is over."""
        try:
            async with aclosing(states):
                async for self._now in states:
                    self._follow_new(self._now.pods)
                    if self._now.job_is_over:
                        break
            await asyncio.gather(*self._tasks.values())
            await self.lines.put(None)
        except PlimsollError as error:
            await self.lines.put(error)
        finally:
            for task in self._tasks.values():
                task.cancel()

    def _follow_new(self, pods: Iterable[Pod]) -> None:
        before = len(self._tasks)
        for pod in pods:
            if self._choice.role in ("", role_of(pod)) and pod.metadata.uid not in self._tasks:
                container = container_of(pod, self._choice)
                if has_started(pod, container):
                    follow = self._follow(pod, container)
                    self._tasks[pod.metadata.uid] = asyncio.create_task(follow)
        there = sum(not task.done() for task in self._tasks.values())
        if there > self._choice.at_once and len(self._tasks) > before:
            most = f"only {self._choice.at_once} pods are followed at once"
            self._note(f"{most}: choose some with --role, or raise --max-connections")

    async def _follow(self, pod: Pod, container: str) -> None:
        log = _log(self._client, pod, container, self._choice, self._terms)
        async with self._turns:
            try:
                async with aclosing(log.followed(partial(self._state, pod, container))) as lines:
                    async for line in lines:
                        await self.lines.put(PodLine(pod.metadata.name, line))
            except NotFound:
                return  # it went with its pod
            except Invalid as error:
                self._note(f"{pod.metadata.name}: {error}")
            except PlimsollError as error:
                await self.lines.put(error)

    def _state(self, pod: Pod, container: str) -> State:
        there = (each for each in self._now.pods if each.metadata.uid == pod.metadata.uid)
        return state_of(next(there, None), container, job_is_over=self._now.job_is_over)
