"""Find which PodDisruptionBudgets cover which jobs' pods, and which jobs they hold in place.

Only budgets of namespaces with placed jobs are considered, and of these only those whose selector
names a label that the pod has. So a namespace's budgets cost only itself, and not once per pod.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from plimsoll.kube.objects.objects import Labels, LabelSelector, PodDisruptionBudget
from plimsoll.observe.eligibility.selectors import matches
from plimsoll.observe.snapshot import JobName, JobView

MOST_CONSIDERED: Final = 100
"""The most budgets considered per pod.

Kubernetes' own eviction fails for a pod covered by more than one.
"""


def kept_by(
    budgets: Sequence[PodDisruptionBudget], placed: Sequence[JobView]
) -> Mapping[JobName, tuple[str, ...]]:
    """Which of the placed jobs PodDisruptionBudgets hold in place, and which budgets do.

    What the budgets allow goes to the least important jobs. A gang is disturbed as a whole: it
    needs all its pods allowed, another job at least one.
    """
    covers = _by_namespace(budgets, placed)
    if not covers:
        return {}
    allowed = {id(b): b.status.disruptions_allowed for each in covers.values() for b in each.all}
    kept: dict[JobName, tuple[str, ...]] = {}
    for job in sorted(placed, key=lambda job: (job.priority or 0, job.name)):
        coverage = covers.get(job.resource.metadata.namespace)
        needs = _disturbed_pods(coverage, job) if coverage is not None else []
        spent = [budget.metadata for budget, n in needs if allowed[id(budget)] < n]
        if spent:
            kept[job.name] = tuple(f"{meta.namespace}/{meta.name}" for meta in spent)
            continue
        for budget, n in needs:
            allowed[id(budget)] -= n
    return kept


class Coverage:
    """The budgets of one namespace, looked up by pod labels."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        self.all = sorted(budgets, key=lambda budget: budget.metadata.name)
        self._named = {key for budget in self.all for key in _keys(budget.spec.selector)}
        self._by_label: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self._by_none: list[int] = []
        for place, budget in enumerate(self.all):
            selector = budget.spec.selector
            if selector is not None and selector.match_labels:
                self._by_label[min(selector.match_labels.items())].append(place)
            elif selector is not None:
                self._by_none.append(place)
        self._known: dict[tuple[tuple[str, str], ...], tuple[int, ...]] = {}

    def of(self, labels: Labels) -> tuple[int, ...]:
        """The indexes in `all` of the budgets that cover a pod with these labels."""
        named = tuple((key, value) for key, value in labels.items() if key in self._named)
        if named not in self._known:
            self._known[named] = tuple(self._covering(labels))
        return self._known[named]

    def _covering(self, labels: Labels) -> Iterator[int]:
        named = (place for label in labels.items() for place in self._by_label.get(label, ()))
        considered = sorted([*islice(named, MOST_CONSIDERED), *self._by_none[:MOST_CONSIDERED]])
        for place in considered[:MOST_CONSIDERED]:
            selector = self.all[place].spec.selector
            if selector is not None and matches(selector, labels):
                yield place


def _by_namespace(
    budgets: Sequence[PodDisruptionBudget], placed: Iterable[JobView]
) -> dict[str, Coverage]:
    inhabited = {job.resource.metadata.namespace for job in placed} if budgets else set[str]()
    found: defaultdict[str, list[PodDisruptionBudget]] = defaultdict(list)
    for budget in budgets:
        if budget.metadata.namespace in inhabited:
            found[budget.metadata.namespace].append(budget)
    return {namespace: Coverage(of) for namespace, of in found.items()}


def _disturbed_pods(coverage: Coverage, job: JobView) -> list[tuple[PodDisruptionBudget, int]]:
    """The fewest pods covered by each budget that any change to the job disturbs."""
    counts = Counter(
        place
        for pod in job.pods
        if not pod.is_over and not pod.deleting
        for place in coverage.of(pod.labels)
    )
    return [(coverage.all[place], n if job.training else 1) for place, n in sorted(counts.items())]


def _keys(selector: LabelSelector | None) -> Iterator[str]:
    if selector is not None:
        yield from selector.match_labels
        yield from (requirement.key for requirement in selector.match_expressions)
