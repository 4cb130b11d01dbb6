import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from plimsoll.observe.measured.power import PodPower, PowerReading
from plimsoll.signals.exporters import ANY_EXPORTER, Exporters
from plimsoll.signals.power_watch import PowerWatch
from plimsoll.signals.prometheus.connection import ConnectionTerms
from plimsoll.signals.prometheus.prometheus import Prometheus
from plimsoll_devcluster.manifest import Manifest
from support.problems.power_cases import a_domain, row
from support.programs.asynchronous import asynchronous
from support.servers.misbehaving_prometheus import misbehaving_prometheus

NODES = ("n-1", "n-2")
EXPORTER = {"namespace": "gpu-operator", "pod": "dcgm-exporter-x"}
"""What Prometheus says of whom it scraped, unless that has such labels of its own and may."""


@dataclass
class Says:
    """What Prometheus says: watts and GPUs by node, of the domain's own query."""

    watts: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(NODES, "2000"))
    gpus: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(NODES, "4"))
    own: tuple[str, ...] = ()
    pods: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    pod_labels: tuple[str, str] = ("namespace", "pod")
    exporters: Mapping[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    scraped: str = ""
    asked: list[str] = field(default_factory=list[str])

    def body(self, path: str) -> bytes:
        """The answer to a query."""
        query = parse_qs(urlsplit(path).query)["query"][0]
        self.asked.append(query)
        now = datetime.now(UTC).timestamp()
        found: list[tuple[dict[str, str], str]] = []
        if query == "own":
            found = [({}, value) for value in self.own]
        elif "exported_pod" in query:
            counts = query.startswith("count")
            namespace, name = self.pod_labels
            found = [
                ({**EXPORTER, namespace: "team", name: pod}, figures[counts])
                for pod, figures in self.pods.items()
            ]
        elif query.startswith("min(timestamp"):
            found = [({}, self.scraped or str(now - 2))]
        else:
            figures = self.gpus if query.startswith("count") else self.watts
            exporters = self.exporters
            found = [
                ({"Hostname": n, **exporters.get(n, {})}, value) for n, value in figures.items()
            ]
        result = [{"metric": labels, "value": [now, value]} for labels, value in found]
        return json.dumps({"data": {"result": result}}).encode()


async def reading(
    says: Says, domain: Manifest | None = None, exporters: Exporters = ANY_EXPORTER
) -> PowerReading:
    """What is known after one look."""
    snapshot = row(domain or a_domain())
    with misbehaving_prometheus() as behaviour:
        behaviour.body_of = says.body
        prometheus = Prometheus(ConnectionTerms(behaviour.url))
        watch = PowerWatch(
            prometheus, lambda: snapshot, lambda: None, seconds=5, exporters=exporters
        )
        now = datetime.now(UTC)
        await watch.look(now)
        prometheus.close()
        return watch.current(now)


@asynchronous
async def test_a_domain_draws_what_its_nodes_draw() -> None:
    found = await reading(Says(watts={"n-1": "1500", "n-2": "2000.5", "other": "9"}))
    assert found.domains == {"row-a": 3500.5}
    assert found.nodes == {"n-1": 1500, "n-2": 2000.5}
    assert found.problems == {}
    assert timedelta(seconds=1) < datetime.now(UTC) - found.measured_at < timedelta(seconds=9)


@pytest.mark.parametrize(
    "says",
    [
        Says(watts={"n-1": "2000"}),
        Says(watts={"n-1": "2000", "n-2": "NaN"}),
        Says(watts={"n-1": "2000", "n-2": "-1"}),
        Says(watts={"n-1": "2000", "n-2": "3601"}),
        Says(gpus={"n-1": "4", "n-2": "3"}),
    ],
    ids=["silent", "no number", "negative", "more than can be", "a GPU is missing"],
)
@asynchronous
async def test_a_domain_of_which_a_node_is_not_known_is_not_known(says: Says) -> None:
    found = await reading(says)
    assert found.domains == {}
    assert found.nodes == {"n-1": 2000}
    assert found.problems == {"row-a": "not all GPUs are measured of n-2"}


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        (("3600",), ""),
        ((), "measuredPowerQuery gives 0 series instead of one"),
        (("1", "2"), "measuredPowerQuery gives 2 series instead of one"),
        (("NaN",), "measuredPowerQuery gives what cannot be: NaN"),
        (("-1",), "measuredPowerQuery gives what cannot be: Absurd"),
        (("7201",), "measuredPowerQuery gives 7201 W, which its GPUs cannot draw"),
    ],
)
@asynchronous
async def test_a_query_of_the_domain_goes_before_its_nodes(
    own: tuple[str, ...], problem: str
) -> None:
    found = await reading(Says(own=own), a_domain(measuredPowerQuery="own"))
    assert found.domains == ({} if problem else {"row-a": 3600})
    assert found.problems == ({"row-a": problem} if problem else {})


@asynchronous
async def test_what_a_pod_reports_of_another_node_is_taken_for_its_own() -> None:
    """The exporter of n-1 reports as it should; another says that it were n-2 and draws nothing."""
    pods = {node: {"namespace": "gpu-operator", "pod": f"on-{node}"} for node in NODES}
    nodes = {"on-n-1": "n-1", "on-n-2": "elsewhere"}
    named = Exporters(("gpu-operator",), node_of=lambda _, pod: nodes.get(pod))
    says = Says(watts={"n-1": "2000", "n-2": "0"}, exporters=pods)
    found = await reading(says, exporters=named)
    assert found.nodes == {"n-1": 2000}
    assert found.problems == {"row-a": "not all GPUs are measured of n-2"}
    assert all('namespace=~"gpu-operator"' in query for query in says.asked)


@pytest.mark.parametrize("labels", [("namespace", "pod"), ("exported_namespace", "exported_pod")])
@asynchronous
async def test_pods_draw_what_their_gpus_do(labels: tuple[str, str]) -> None:
    pods = {"t-worker-0": ("1400.5", "3"), "t-worker-1": ("500", "1")}
    found = await reading(Says(pods=pods, pod_labels=labels))
    assert found.pods == {
        ("team", "t-worker-0"): PodPower(1400.5, 3),
        ("team", "t-worker-1"): PodPower(500, 1),
    }


@asynchronous
async def test_pods_are_asked_about_once_a_minute() -> None:
    snapshot, says = row(a_domain()), Says(pods={"t-worker-0": ("1400", "3")})
    with misbehaving_prometheus() as behaviour:
        behaviour.body_of = says.body
        prometheus = Prometheus(ConnectionTerms(behaviour.url))
        watch = PowerWatch(prometheus, lambda: snapshot, lambda: None, seconds=5)
        now, found = datetime.now(UTC), list[bool]()
        for seconds in (0, 5, 59, 60):
            later = now + timedelta(seconds=seconds)
            await watch.look(later)
            found.append(watch.current(later).pods is not None)
        prometheus.close()
    assert found == [True, False, False, True]
    assert sum("exported_pod" in query for query in says.asked) == 4


@asynchronous
async def test_what_was_answered_expires_after_three_intervals() -> None:
    snapshot, news = row(a_domain()), list[str]()
    with misbehaving_prometheus() as behaviour:
        behaviour.body_of = Says().body
        prometheus = Prometheus(ConnectionTerms(behaviour.url))
        watch = PowerWatch(prometheus, lambda: snapshot, lambda: news.append("changed"), seconds=5)
        now = datetime.now(UTC)
        assert watch.current(now).domains == {}
        await watch.look(now)
        assert watch.current(now + timedelta(seconds=15)).domains == {"row-a": 4000}
        late = watch.current(now + timedelta(seconds=16))
        assert (late.domains, late.nodes) == ({}, {})
        assert late.problems == {"row-a": "Prometheus has not answered for 15 s"}
        behaviour.status = 503
        await watch.look(now)
        assert watch.current(now).domains == {}
        assert watch.current(now).problems["row-a"].startswith("Prometheus gives no answer")
        prometheus.close()
    assert news == ["changed"] * 2


@asynchronous
async def test_without_a_power_domain_nothing_is_asked() -> None:
    empty = row(a_domain())
    without = type(empty)(empty.now, empty.nodes, empty.jobs)
    with misbehaving_prometheus() as behaviour:
        prometheus = Prometheus(ConnectionTerms(behaviour.url))
        watch = PowerWatch(prometheus, lambda: without, lambda: None, seconds=5)
        await watch.look(datetime.now(UTC))
        prometheus.close()
        assert behaviour.paths == []


@pytest.mark.parametrize("time", ["1e308", "1e12", "NaN", "+Inf", "9" * 5000])
@asynchronous
async def test_a_scrape_at_a_time_that_cannot_be_costs_nothing_that_is_measured(time: str) -> None:
    found = await reading(Says(scraped=time))
    assert found.domains == {"row-a": 4000}
    assert datetime.now(UTC) - found.measured_at < timedelta(seconds=9)


@pytest.mark.parametrize("watts", ["1e308", "9" * 5000, "-1e308", "+Inf", ""])
@asynchronous
async def test_watts_that_cannot_be_cost_their_node_only(watts: str) -> None:
    found = await reading(Says(watts={"n-1": "2000", "n-2": watts}))
    assert found.nodes == {"n-1": 2000}
    assert found.problems == {"row-a": "not all GPUs are measured of n-2"}
