"""What of a snapshot a user may see: which jobs, and which names.

Messages are sentences for people, which may name other jobs, nodes, queues, pools and power
domains. A name that the user may not see is replaced in them.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll_console.access.rights import JOB_KINDS, Rights
from plimsoll_console.messages.keys import JobKey

ANOTHER_JOB: Final = "another job"
_JOB_KINDS: Final = frozenset(each.kind for each in JOB_KINDS)
_NONE: Final = frozenset[str]()
_PATH: Final = re.compile(r"(?<![\w./-])(?:([A-Za-z]\w*)/)?([\w.-]+)/([\w.-]+)")
_WORD: Final = re.compile(r"[\w.-]+(?:/[\w.-]+)*")


@dataclass(frozen=True)
class Sight:
    """A snapshot as a user with these rights may see it."""

    snapshot: Snapshot
    rights: Rights
    salt: bytes = field(default=b"", repr=False)
    """Secret; what stands for a name that may not be seen cannot be guessed without it."""

    def opaque(self, kind: str, name: str) -> str:
        """What stands for a name: the same each time, for as long as the console runs."""
        said = hashlib.blake2b(f"{kind}/{name}".encode(), key=self.salt, digest_size=9)
        return said.hexdigest()

    def job(self, view: JobView) -> bool:
        """Whether a job may be seen."""
        return self.rights.job(view.resource.kind, view.resource.metadata.namespace)

    def named(self, name: str) -> bool:
        """Whether a job of that name, `Kind/namespace/name`, may be seen."""
        kind, _, rest = name.partition("/")
        return self.rights.job(kind, rest.partition("/")[0])

    @cached_property
    def jobs(self) -> tuple[JobView, ...]:
        """The jobs that may be seen."""
        return tuple(view for view in self.snapshot.jobs if self.job(view))

    @cached_property
    def nodes(self) -> frozenset[str]:
        """The nodes that may be named: all, or those of jobs that may be seen."""
        if self.rights.nodes:
            return frozenset(self.snapshot.node_by_name)
        placed = (name for view in self.jobs for name in view.placed_nodes)
        bound = (pod.node or pod.wanted_node for view in self.jobs for pod in view.pods)
        return frozenset((*placed, *bound))

    def text(self, text: str) -> str:
        """A sentence without the names that may not be seen."""
        text = _PATH.sub(self._path, text)
        return _WORD.sub(self._word, text) if self._hidden else text

    def _path(self, found: re.Match[str]) -> str:
        kind, namespace = found[1], found[2]
        if kind in _JOB_KINDS:
            return found[0] if self.rights.job(kind, namespace) else ANOTHER_JOB
        is_place = namespace in self.snapshot.namespaces
        if not is_place or namespace in self._namespaces:
            return found[0]
        return "an object of another namespace"

    def _word(self, found: re.Match[str]) -> str:
        return self._hidden.get(found[0].rstrip("."), found[0])

    @cached_property
    def _namespaces(self) -> frozenset[str]:
        if self.rights.kinds:
            return frozenset(self.snapshot.namespaces)
        return frozenset(self.rights.namespaces)

    @cached_property
    def _hidden(self) -> Mapping[str, str]:
        """What to write in place of each name that may not be seen."""
        snapshot, rights = self.snapshot, self.rights
        own = frozenset(view.resource.spec.queue for view in self.jobs)
        hidden = (
            ("another queue", snapshot.queues, rights.queues, own),
            ("another pool", snapshot.pools, rights.pools, _NONE),
            ("another power domain", snapshot.power_domains, rights.power_domains, _NONE),
        )
        found = {
            each.metadata.name: word
            for word, objects, may_see, known in hidden
            if not may_see
            for each in objects
            if each.metadata.name not in known
        }
        nodes = {name: "another node" for name in snapshot.node_by_name if name not in self.nodes}
        return found | nodes


def key_of(view: JobView) -> JobKey:
    """What names a job, and the workload that it stands for."""
    meta, training = view.resource.metadata, view.training
    stands_for = training.spec.workload_ref if training else None
    if stands_for is None:
        return JobKey(view.resource.kind, meta.namespace, meta.name)
    kind, name = stands_for.kind, stands_for.name
    return JobKey(view.resource.kind, meta.namespace, meta.name, kind, name)


def named_key(name: str) -> JobKey:
    """The same by its name, `Kind/namespace/name`."""
    kind, namespace, own = name.split("/", 2)
    return JobKey(kind, namespace, own)
