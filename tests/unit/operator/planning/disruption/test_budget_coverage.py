"""Many budgets of one namespace cost it something, and others nothing."""

import time
from typing import Any

import pytest

from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.disruption.budgets import kept_by_budgets
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import at, pods_of, seen
from support.objects.job_manifests import a_template, a_training_job

SECONDS = 5.0
"""With ten thousand budgets; each budget beside each pod took twenty times as long."""


def a_budget(name: str, allowed: int = 0, *, namespace: str = "team", **selector: Any) -> Manifest:  # noqa: ANN401 - parts of a selector
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": allowed},
    }


def a_gang(name: str, **labels: str) -> list[Manifest]:
    job = at(a_training_job(name, template=a_template(labels=labels)), "node")
    return [job, *pods_of(job)]


def kept(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    return {name.rpartition("/")[2]: why for name, why in kept_by_budgets(snapshot).items()}


@pytest.mark.parametrize(
    ("selector", "covers"),
    [
        ({}, True),
        ({"matchLabels": {"app": "a"}}, True),
        ({"matchLabels": {"app": "b"}}, False),
        ({"matchLabels": {"app": "a", "tier": "x"}}, True),
        ({"matchLabels": {"app": "a", "tier": "y"}}, False),
        ({"matchLabels": {"app": "a", "other": "y"}}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "other", "operator": "DoesNotExist"}]}, True),
        (
            {
                "matchLabels": {"app": "a"},
                "matchExpressions": [{"key": "tier", "operator": "In", "values": ["y"]}],
            },
            False,
        ),
    ],
)
def test_a_budget_covers_what_its_selector_means(selector: Manifest, *, covers: bool) -> None:
    gang = a_gang("gang", app="a", tier="x")
    found = kept(seen(fake_node("node"), *gang, a_budget("it", **selector)))
    assert found == ({"gang": ("team/it",)} if covers else {})


def test_all_budgets_that_keep_a_job_are_named() -> None:
    budgets = [a_budget("b"), a_budget("a", matchLabels={"app": "a"}), a_budget("c", allowed=1)]
    found = kept(seen(fake_node("node"), *a_gang("gang", app="a"), *budgets))
    assert found == {"gang": ("team/a", "team/b")}


@pytest.mark.slow
@pytest.mark.parametrize(
    "selector",
    [
        {},
        {"matchLabels": {"app": "a"}},
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["b"]}]},
    ],
)
def test_ten_thousand_budgets_take_no_turn_away(selector: Manifest) -> None:
    many = [a_budget(f"b{number:05}", 1000, **selector) for number in range(10_000)]
    gangs = [each for number in range(200) for each in a_gang(f"g{number}", app="a", x=str(number))]
    snapshot = seen(fake_node("node", gpus=8), *gangs, *many)
    started = time.process_time()
    kept_by_budgets(snapshot)
    assert time.process_time() - started < SECONDS


def test_budgets_where_nothing_is_placed_are_not_looked_at() -> None:
    elsewhere = [a_budget(f"b{n}", namespace="elsewhere") for n in range(10)]
    assert kept(seen(fake_node("node"), *a_gang("gang"), *elsewhere)) == {}
