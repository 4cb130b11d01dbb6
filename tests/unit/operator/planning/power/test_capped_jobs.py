import pytest

from plimsoll.planning.power.capped_jobs import capped_jobs
from plimsoll.planning.power.loads import servers_of, uses_of
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.estimate.capping.throughput import EXPONENTS
from support.clusters.seen import NAMESPACE, at, with_pods
from support.objects.job_manifests import an_inference_job
from support.problems.power_cases import a_domain, a_node, jobs, problem_of, row

BATCH = f"TrainingJob/{NAMESPACE}/batch"


def capped(watts: int, name: str = "n-1") -> Manifest:
    """A node whose agent has set a limit."""
    limits = ",".join([str(watts)] * 4)
    return a_node(name, power_cap_watts=str(watts), power_limit_watts=limits)


def said(*nodes: Manifest, work: list[Manifest] | None = None) -> dict[str, str]:
    snapshot = row(a_domain(), *nodes, work=jobs() if work is None else work)
    return {**capped_jobs(snapshot, problem_of(snapshot))}


def a_service(*nodes: str, utilization: str | None = None) -> list[Manifest]:
    role = {} if utilization is None else {"utilization": utilization}
    service = an_inference_job("chat", replicas=len(nodes), gpus=4, role=role)
    return with_pods([at(service, *nodes)])


def test_a_condition_says_how_low_gpus_are_limited_for_whom_and_what_that_costs() -> None:
    assert said(capped(200), a_node("n-2")) == {
        BATCH: "its node is limited to 200 W a GPU so that power domain row-a stays within "
        "its budget of 4500 W; about 50 % slower"
    }


def test_without_a_limit_in_force_nothing_is_said() -> None:
    wanted = a_node("n-1", power_cap_watts="200", power_limit_watts="600,600,600,600")
    assert said(a_node("n-1"), a_node("n-2")) == {}
    assert said(wanted, a_node("n-2")) == {}
    assert said(capped(200), a_node("n-2"), work=[]) == {}


def test_a_limit_above_what_is_drawn_costs_hardly_anything() -> None:
    assert said(capped(550), a_node("n-2"))[BATCH].endswith("; hardly slower")


def test_replicas_lose_on_average() -> None:
    [words] = said(capped(200), a_node("n-2"), work=a_service("n-1", "n-2")).values()
    whole = 100 * (1 - (100 / 360) ** EXPONENTS["Mixed"])
    assert words.startswith("1 of 2 nodes are limited to 200 W a GPU")
    assert words.endswith(f"; about {whole / 2:.0f} % slower")


def test_limits_that_differ_are_reported_from_the_lowest_to_the_highest() -> None:
    [words] = said(capped(200), capped(300, "n-2"), work=a_service("n-1", "n-2")).values()
    assert words.startswith("2 of 2 nodes are limited to 200 to 300 W a GPU")


@pytest.mark.parametrize("utilization", ["Prefill", "Decode", None])
def test_a_server_loses_by_what_its_replicas_do(utilization: str | None) -> None:
    snapshot = row(a_domain(), work=a_service("n-1", utilization=utilization))
    uses = uses_of(problem_of(snapshot))
    server = next(s for s in servers_of(snapshot, snapshot.nodes, uses) if s.gpus)
    assert server.exponent == EXPONENTS[utilization or "Mixed"]
