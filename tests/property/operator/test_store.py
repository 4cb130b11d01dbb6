"""Whatever the order in which lists, events and answers come in, the store ends as the server is.

A server is played with its history of versions; the watch delivers that history in order and late,
our own writes are answered at any time after they happened, and lists are made of any version
between what the watch has delivered and the newest.
"""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.kube.objects.objects import ObjectMeta, Pod, PodSpec
from plimsoll.kube.watching.store import Key, Store

NAMES = ("a", "b", "c")


@dataclass(frozen=True)
class Change:
    """One write on the server; it removes the pod where `node` is None."""

    pod: Pod
    is_deletion: bool


@dataclass
class Server:
    """All that happened, in order; versions start at 1 and are the places in `history`."""

    history: list[Change] = field(default_factory=list[Change])

    def write(self, name: str, node: str | None) -> Change:
        meta = ObjectMeta(name=name, namespace="ns", resource_version=str(len(self.history) + 1))
        change = Change(Pod(metadata=meta, spec=PodSpec(node_name=node or "")), node is None)
        self.history.append(change)
        return change

    def state(self, version: int) -> dict[Key, Pod]:
        state: dict[Key, Pod] = {}
        for change in self.history[:version]:
            key = Key("ns", change.pod.metadata.name)
            if change.is_deletion:
                state.pop(key, None)
            else:
                state[key] = change.pod
        return state


@dataclass
class Play:
    """A server, a store that follows it, and what we wrote ourselves."""

    server: Server = field(default_factory=Server)
    store: Store[Pod] = field(default_factory=lambda: Store[Pod](lambda pod: pod))
    unanswered: list[Change] = field(default_factory=list[Change])
    answered: dict[str, int] = field(default_factory=dict[str, int])

    def write(self, name: str, node: str | None) -> None:
        if node is None and Key("ns", name) not in self.server.state(len(self.server.history)):
            return
        change = self.server.write(name, node)
        if not change.is_deletion:
            self.unanswered.append(change)

    def answer(self, index: int) -> None:
        pod = self.unanswered.pop(index % len(self.unanswered)).pod
        self.store.wrote(pod)
        name, version = pod.metadata.name, int(pod.metadata.resource_version)
        self.answered[name] = max(version, self.answered.get(name, 0))

    def deliver_next(self) -> None:
        change = self.server.history[self.store.position]
        if change.is_deletion:
            self.store.deleted(change.pod.metadata)
        else:
            self.store.received(change.pod)

    def list(self, version: int) -> None:
        self.store.listed(self.server.state(version).values(), version)

    def assert_no_step_back(self) -> None:
        """Each pod is as the server had it at some time after all that we know of it."""
        for name in NAMES:
            known_since = max(self.store.position, self.answered.get(name, 0))
            later = range(known_since, len(self.server.history) + 1)
            possible = [self.server.state(version).get(Key("ns", name)) for version in later]
            assert self.store.objects.get(Key("ns", name)) in possible


@settings(max_examples=4 * settings().max_examples)
@given(st.data())
def test_the_store_never_steps_back_and_ends_as_the_server_is(data: st.DataObject) -> None:
    play = Play()
    for _ in range(data.draw(st.integers(1, 30))):
        newest = len(play.server.history)
        match data.draw(st.sampled_from(("write", "answer", "deliver", "list"))):
            case "write":
                nodes = st.sampled_from(("x", "y", None))
                play.write(data.draw(st.sampled_from(NAMES)), data.draw(nodes))
            case "answer" if play.unanswered:
                play.answer(data.draw(st.integers(0, 9)))
            case "deliver" if play.store.position < newest:
                play.deliver_next()
            case "list":
                play.list(data.draw(st.integers(play.store.position, newest)))
            case _:
                pass
        play.assert_no_step_back()
    while play.unanswered:
        play.answer(0)
    while play.store.position < len(play.server.history):
        play.deliver_next()
    assert dict(play.store.objects) == play.server.state(len(play.server.history))
