import pytest

from plimsoll.observe.measured.sample import Labels
from plimsoll.signals.exporters import ANY_EXPORTER, Exporters, listed

NODES = {("gpu-operator", "exporter"): "n-1", ("team", "worker"): "n-3"}
OPERATORS = {"namespace": "gpu-operator"}
SCRAPED = {"namespace": "gpu-operator", "pod": "exporter", "instance": "10.0.0.1:9400"}


def node_of(namespace: str, name: str) -> str | None:
    return NODES.get((namespace, name))


@pytest.mark.parametrize(
    ("labels", "located"),
    [
        (SCRAPED, {**SCRAPED, "node": "n-1"}),
        ({**SCRAPED, "Hostname": "n-2", "node": "n-2"}, {**SCRAPED, "node": "n-1"}),
        ({**SCRAPED, "pod": "worker", "node": "n-2"}, {**SCRAPED, "pod": "worker", "node": "n-2"}),
        (
            {"namespace": "gpu-operator", "node": "n-2"},
            {"namespace": "gpu-operator", "node": "n-2"},
        ),
    ],
    ids=["its node", "not another", "no pod of that name", "no pod"],
)
def test_the_node_is_that_of_the_pod_that_was_scraped(labels: Labels, located: Labels) -> None:
    assert Exporters(("gpu-operator",), node_of=node_of).located(labels) == located


def test_where_anybody_counts_the_pod_may_be_the_one_that_has_the_gpu() -> None:
    labels = {"namespace": "team", "pod": "worker", "Hostname": "n-2"}
    assert Exporters(node_of=node_of).located(labels) == labels
    assert ANY_EXPORTER.matchers == ""


def test_a_name_cannot_become_more_than_a_name() -> None:
    assert Exporters(jobs=('a"} or up{x="',)).matchers.count('"') == 2


@pytest.mark.parametrize(("names", "found"), [("", ()), ("a", ("a",)), (" a , b,", ("a", "b"))])
def test_a_list_is_separated_by_commas(names: str, found: tuple[str, ...]) -> None:
    assert listed(names) == found
