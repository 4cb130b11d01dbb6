"""The jobs to which a plan gives something new, for whose sake others may lose theirs."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from plimsoll_placement.model import Assignment, Job, NodeName, Placements


class Newcomers:
    """What the jobs of a problem get by these placements that they do not have now."""

    def __init__(self, jobs: Iterable[Job], placements: Placements) -> None:
        self._fresh = [(job, {*placements.get(job.name, ())} - {*job.running}) for job in jobs]

    def in_place_of(self, victim: Job) -> list[Job]:
        """The jobs that are new on a victim's nodes; if none, those new on its GPU type."""
        there = self.on({name for each in victim.running for name in each.nodes}, victim)
        types = {each.gpu_type for each in victim.running}
        return there or _others(self._by_type, types, victim)

    def on(self, nodes: Iterable[NodeName], but: Job) -> list[Job]:
        """The other jobs that are new on any of these nodes, the most important ones first."""
        return _others(self._by_node, nodes, but)

    @cached_property
    def _by_node(self) -> Mapping[str, list[Job]]:
        return self._by(lambda fresh: fresh.nodes)

    @cached_property
    def _by_type(self) -> Mapping[str, list[Job]]:
        return self._by(lambda fresh: (fresh.gpu_type,))

    def _by(self, keys: Callable[[Assignment], Iterable[str]]) -> Mapping[str, list[Job]]:
        """The jobs by the keys of what they get."""
        found: dict[str, list[Job]] = defaultdict(list)
        for job, fresh in self._fresh:
            for key in {key for each in fresh for key in keys(each)}:
                found[key].append(job)
        return found


def _others(new: Mapping[str, list[Job]], keys: Iterable[str], but: Job) -> list[Job]:
    """The other jobs under any of these keys, the most important ones first."""
    found = {job.name: job for key in keys for job in new.get(key, ())}
    others = (job for job in found.values() if job.whole_name != but.whole_name)
    return sorted(others, key=lambda job: (-job.priority, job.name))
