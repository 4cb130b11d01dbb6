"""Whatever Kueue's objects say, what is printed is valid, and keeps what queues are due."""

import io
import math
import tempfile
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import yaml
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll.api.unknown_fields import unknown_fields
from plimsoll.cli import main
from plimsoll_devcluster.manifest import Manifest, manifests_in
from support.objects.kueue_objects import a_cluster_queue, a_cohort, a_flavor, a_quota, kueue

NAMES = st.sampled_from(["a", "b", "c", "d", "Not A Name", "x" * 254])
AMOUNTS = st.one_of(st.integers(0, 99), st.sampled_from(["1500m", "2k", "1e3", "-1", "x", 0.5]))
FLAVORS = st.sampled_from(["h100", "l4", "any", "missing", "plain"])
LIMITS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("borrowingLimit", "lendingLimit"), AMOUNTS)
)
GPUS = st.sampled_from(["nvidia.com/gpu", "cpu", "nvidia.com/mig-1g.5gb", "amd.com/gpu"])
LABELS = st.dictionaries(st.sampled_from(["nvidia.com/gpu.product", "zone"]), st.text(max_size=70))
JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


@st.composite
def groups(draw: st.DrawFn) -> list[Manifest]:
    count = draw(st.integers(0, 2))
    return [
        a_quota(draw(AMOUNTS), draw(FLAVORS), of=draw(GPUS), **draw(LIMITS)) for _ in range(count)
    ]


@st.composite
def objects(draw: st.DrawFn) -> Manifest:
    name, other, those = draw(NAMES), draw(NAMES), draw(groups())
    choices: tuple[Manifest, ...] = (
        a_cluster_queue(name, *those, cohort=other),
        a_cohort(name, *those, parent=other),
        a_flavor(draw(FLAVORS), draw(LABELS)),
        kueue("WorkloadPriorityClass", name, value=draw(AMOUNTS)),
    )
    made = choices[draw(st.integers(0, len(choices) - 1))]
    if "spec" in made and draw(st.integers(0, 4)) == 0:
        fields = st.sampled_from([*made["spec"], "namespaceSelector", "preemption", "fairSharing"])
        made["spec"][draw(fields)] = draw(JUNK)
    return made


def imported(*manifests: Manifest) -> list[Manifest]:
    """What the command prints of a file with these objects."""
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(out), redirect_stderr(err):
        path = Path(folder, "kueue.yaml")
        path.write_text(yaml.safe_dump_all(manifests))
        status = main(["import", "kueue", "-f", str(path)])
    assert status in (0, 2), err.getvalue()
    found: list[Manifest] = manifests_in(out.getvalue())
    assert (status == 0) == bool(found)
    return found


@given(st.lists(objects(), max_size=8))
def test_whatever_kueues_objects_say_what_is_printed_is_valid(manifests: list[Manifest]) -> None:
    made = imported(*manifests)
    keys = [(each["kind"], each["metadata"]["name"]) for each in made]
    assert len({*keys}) == len(keys)
    for each in made:
        if each["kind"] != "PriorityClass":
            kind = KIND_BY_NAME[each["kind"]]
            kind.model_validate(each)
            assert [*unknown_fields(kind, each)] == []


@dataclass(frozen=True, slots=True)
class Node:
    """A Cohort or ClusterQueue with a quota of one resource."""

    nominal: int
    borrowing: int | None
    lending: int | None
    parent: int | None


BOUND = st.none() | st.integers(0, 12)


@st.composite
def forests(draw: st.DrawFn) -> list[Node]:
    """Nodes, each after its parent."""
    found: list[Node] = []
    for n in range(draw(st.integers(1, 6))):
        parent = draw(st.none() | st.integers(0, n - 1)) if n else None
        bounds = (None, None) if parent is None else (draw(BOUND), draw(BOUND))
        found.append(Node(draw(st.integers(0, 12)), *bounds, parent))
    return found


def subtree_quota(forest: list[Node], at: int) -> int:
    """Kueue's SubtreeQuota, as `updateCohortResourceNode` has it."""
    children = [n for n, each in enumerate(forest) if each.parent == at]
    lent = (subtree_quota(forest, n) - local_quota(forest, n) for n in children)
    return forest[at].nominal + sum(lent)


def local_quota(forest: list[Node], at: int) -> int:
    """Kueue's localQuota."""
    lending = forest[at].lending
    return 0 if lending is None else max(0, subtree_quota(forest, at) - lending)


def available(forest: list[Node], at: int) -> int:
    """Kueue's `available` while nothing is in use."""
    node, quota, local = forest[at], subtree_quota(forest, at), local_quota(forest, at)
    if node.parent is None:
        return quota
    above = available(forest, node.parent)
    if node.borrowing is not None:
        above = min(quota - local + node.borrowing, above)
    return local + above


def written(forest: list[Node]) -> list[Manifest]:
    """The nodes as Kueue's objects: those without members are ClusterQueues."""
    parents = {node.parent for node in forest}
    found = [a_flavor("h100")]
    for n, node in enumerate(forest):
        above = "" if node.parent is None else f"n{node.parent}"
        limits: Manifest = {"borrowingLimit": node.borrowing, "lendingLimit": node.lending}
        quota = a_quota(node.nominal, **{k: v for k, v in limits.items() if v is not None})
        is_cohort = n in parents
        found.append(
            a_cohort(f"n{n}", quota, parent=above)
            if is_cohort
            else a_cluster_queue(f"n{n}", quota, cohort=above)
        )
    return found


def limit(queues: Mapping[str, Manifest], name: str | None) -> float:
    """What a queue may use at most, by its own limit and those above."""
    if name is None:
        return math.inf
    spec = queues[name]["spec"]
    own = [quota["limit"] for quota in spec.get("quotas", ()) if "limit" in quota]
    return min([*own, limit(queues, spec.get("parent"))])


@given(forests())
def test_a_queue_may_use_just_what_kueue_would_let_it(forest: list[Node]) -> None:
    made = imported(*written(forest))
    queues = {each["metadata"]["name"]: each for each in made if each["kind"] == "JobQueue"}
    for n in {*range(len(forest))} - {node.parent for node in forest}:
        assert limit(queues, f"n{n}") == available(forest, n)


@given(forests())
def test_guarantees_are_the_nominal_quotas_and_a_cohort_has_those_of_its_members(
    forest: list[Node],
) -> None:
    made = imported(*written(forest))
    queues = {each["metadata"]["name"]: each for each in made if each["kind"] == "JobQueue"}
    for n, node in enumerate(forest):
        quotas: list[Manifest] = queues[f"n{n}"]["spec"].get("quotas", [])
        own = sum(quota.get("guaranteed", 0) for quota in quotas)
        below = [
            quota.get("guaranteed", 0)
            for m, child in enumerate(forest)
            if child.parent == n
            for quota in queues[f"n{m}"]["spec"].get("quotas", [])
        ]
        assert own == node.nominal + sum(below)
