"""What becomes of Kueue's objects, and what is said of the rest."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest, manifests_in
from support.objects.job_manifests import a_priority_class
from support.objects.kueue_objects import (
    a_cluster_queue,
    a_cohort,
    a_flavor,
    a_local_queue,
    a_quota,
    kueue,
)
from support.programs.cli_runs import Ran, run, written

H100 = a_flavor("h100")


@dataclass(frozen=True, slots=True)
class Import:
    """What was printed, by kind and name, and what was said."""

    ran: Ran

    @property
    def objects(self) -> dict[tuple[str, str], Any]:
        found = manifests_in(self.ran.out)
        return {(each["kind"], each["metadata"]["name"]): each for each in found}

    def queue(self, name: str) -> Any:  # noqa: ANN401 - a spec
        return self.objects["JobQueue", name]["spec"]

    def quotas(self, name: str) -> dict[str, tuple[int, int | None]]:
        """Guaranteed and limit by GPU type."""
        quotas = self.queue(name).get("quotas", [])
        return {each["type"]: (each.get("guaranteed", 0), each.get("limit")) for each in quotas}

    @property
    def notes(self) -> list[str]:
        said = [line.removeprefix("plimsoll: ") for line in self.ran.err.splitlines()]
        head = self.ran.out.partition("---")[0]
        assert all(f"# {each}\n" in head for each in said), "they stand in the YAML too"
        return said

    def note(self, words: str) -> str:
        (found,) = (each for each in self.notes if words in each)
        return found


Importer = Callable[..., Import]


@pytest.fixture
def imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Importer:
    def of(*manifests: Manifest, options: tuple[str, ...] = ()) -> Import:
        path = written(tmp_path, "kueue.yaml", *manifests)
        return Import(run(capsys, "import", "kueue", "-f", path, *options))

    return of


def test_a_queue_without_a_cohort_has_its_quota_and_no_more(imported: Importer) -> None:
    found = imported(H100, a_cluster_queue("team", a_quota(8)), a_local_queue("a", "team"))
    assert found.ran.status == 0
    assert found.quotas("team") == {"h100": (8, 8)}
    assert found.notes == []
    assert "# Everything was carried over.\n" in found.ran.out


def test_a_cohort_is_the_parent_of_its_queues_and_owns_what_they_do(imported: Importer) -> None:
    found = imported(
        H100,
        a_cohort("top", a_quota(4)),
        a_cohort("mid", parent="top"),
        a_cluster_queue("a", a_quota(8), cohort="mid"),
        a_cluster_queue("b", a_quota(2, borrowingLimit=3), cohort="mid"),
    )
    assert [found.queue(name).get("parent") for name in ("top", "mid", "a", "b")] == [
        None,
        "top",
        "mid",
        "mid",
    ]
    assert found.quotas("top") == {"h100": (14, 14)}
    assert found.quotas("mid") == {"h100": (10, None)}
    assert found.quotas("a") == {"h100": (8, None)}, "it may borrow all that there is"
    assert found.quotas("b") == {"h100": (2, 5)}


def test_what_a_queue_does_not_lend_is_beyond_the_limits_of_others(imported: Importer) -> None:
    found = imported(
        H100,
        a_cluster_queue("a", a_quota(8, lendingLimit=3), cohort="c"),
        a_cluster_queue("b", a_quota(2), cohort="c"),
    )
    assert found.quotas("c") == {"h100": (10, 10)}
    assert found.quotas("a") == {"h100": (8, None)}
    assert found.quotas("b") == {"h100": (2, 5)}
    assert found.note("lendingLimit of h100").startswith("ClusterQueue a: ")


def test_a_flavor_that_a_queue_does_not_name_is_closed_to_it(imported: Importer) -> None:
    found = imported(
        H100,
        a_flavor("l4"),
        a_cluster_queue("a", a_quota(8), cohort="c"),
        a_cluster_queue("b", a_quota(4, "l4"), cohort="c"),
    )
    assert found.quotas("a") == {"h100": (8, None), "l4": (0, 0)}
    assert found.quotas("b") == {"h100": (0, 0), "l4": (4, None)}


def test_weights_keep_their_proportion(imported: Importer) -> None:
    queues = [
        a_cluster_queue(f"q{n}", a_quota(1), cohort="c", fairSharing={"weight": weight})
        for n, weight in enumerate(("0.5", 2, "1500m"))
    ]
    found = imported(H100, *queues)
    assert [found.queue(f"q{n}").get("weight", 1) for n in range(3)] == [1, 4, 3]


def test_a_namespace_may_use_a_queue_if_it_has_a_local_queue_and_is_selected(
    imported: Importer,
) -> None:
    selector = {"matchLabels": {"team": "a"}}
    found = imported(
        H100,
        a_cluster_queue("team", a_quota(8), namespaceSelector=selector),
        a_local_queue("two", "team"),
        a_local_queue("one", "team"),
        a_local_queue("two", "team", "other"),
    )
    names = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["one", "two"]}
    assert found.queue("team")["namespaceSelector"] == {**selector, "matchExpressions": [names]}
    assert "for jobs of LocalQueue one/main, two/main, two/other" in found.ran.out


def test_a_queue_that_selects_no_namespace_admits_none(imported: Importer) -> None:
    queue = a_cluster_queue("team", a_quota(8))
    del queue["spec"]["namespaceSelector"]
    found = imported(H100, queue, a_local_queue("a", "team"))
    (expression,) = found.queue("team")["namespaceSelector"]["matchExpressions"]
    assert expression["operator"] == "DoesNotExist"
    assert "admits no namespace" in found.note("spec.namespaceSelector")


@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
def test_a_stopped_queue_admits_nothing(imported: Importer, policy: str) -> None:
    found = imported(H100, a_cluster_queue("team", a_quota(8), stopPolicy=policy))
    assert found.queue("team")["maxJobs"] == 0


def test_the_older_version_is_read_too(imported: Importer) -> None:
    old = a_cluster_queue("team", a_quota(8), cohort="c", admissionChecks=["prov"])
    old["apiVersion"] = "kueue.x-k8s.io/v1beta1"
    old["spec"]["cohort"] = old["spec"].pop("cohortName")
    found = imported(H100, old)
    assert found.queue("team")["parent"] == "c"
    assert "no AdmissionCheck" in found.note("spec.admissionChecks:")


def test_a_flavor_becomes_a_pool_with_its_topology(imported: Importer) -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-L4", "karpenter.sh/capacity-type": "spot"}
    levels = ["cloud.provider.com/topology-block", "example.com/Rack_A", "kubernetes.io/hostname"]
    topology = kueue("Topology", "racks", spec={"levels": [{"nodeLabel": each} for each in levels]})
    found = imported(
        a_flavor("l4", labels, topologyName="racks"),
        topology,
        a_cluster_queue("q", a_quota(1, "l4")),
    )
    assert found.objects["GPUPool", "l4"]["spec"] == {
        "nodeSelector": labels,
        "capacityType": "Spot",
        "topologyKeys": [
            {"name": name, "label": label}
            for name, label in zip(("block", "rack-a", "host"), levels, strict=True)
        ],
    }
    assert found.quotas("q") == {"NVIDIA-L4": (1, 1)}


def test_the_nodes_say_which_gpus_a_flavor_has(imported: Importer) -> None:
    node = fake_node("n", gpus=8)
    node["metadata"]["labels"]["group"] = "big"
    product = node["metadata"]["labels"]["nvidia.com/gpu.product"]
    found = imported(
        a_flavor("big", {"group": "big"}), node, a_cluster_queue("q", a_quota(1, "big"))
    )
    assert found.quotas("q") == {product: (1, 1)}
    assert "gpuType" not in found.objects["GPUPool", "big"]["spec"]


def test_where_nothing_says_it_the_pool_names_the_type(imported: Importer) -> None:
    objects = a_flavor("big", {"group": "big"}), a_cluster_queue("q", a_quota(1, "big"))
    found = imported(*objects)
    assert found.quotas("q") == {"big": (1, 1)}
    assert found.objects["GPUPool", "big"]["spec"]["gpuType"] == "big"
    assert "--gpu-type big=TYPE" in found.note("ResourceFlavor big")
    named = imported(*objects, options=("--gpu-type", "big=NVIDIA-L4"))
    assert named.quotas("q") == {"NVIDIA-L4": (1, 1)}
    assert named.objects["GPUPool", "big"]["spec"]["gpuType"] == "NVIDIA-L4"


def test_what_cannot_be_counted_is_closed_until_somebody_fills_it_in(imported: Importer) -> None:
    unknown = imported(a_flavor("any", {}), a_cluster_queue("q", a_quota(4, "any")))
    assert unknown.queue("q")["maxJobs"] == 0
    assert "are unknown" in unknown.note("--gpu-type any=TYPE")
    nodes = [fake_node("a", gpus=1), fake_node("b", gpus=1)]
    nodes[1]["metadata"]["labels"]["nvidia.com/gpu.product"] = "Other"
    several = imported(a_flavor("any", {}), *nodes, a_cluster_queue("q", a_quota(4, "any")))
    assert {each[1] for each in several.quotas("q").values()} == {0}
    assert "are several" in several.note("--gpu-type any=TYPE")


def test_a_quota_in_a_flavor_that_is_not_there_admits_nothing(imported: Importer) -> None:
    found = imported(fake_node("n", gpus=1), a_cluster_queue("q", a_quota(4, "gone")))
    assert found.queue("q")["maxJobs"] == 0
    assert "quotas" not in found.queue("q")
    assert "add it" in found.note("there is no ResourceFlavor gone")


def test_shares_of_a_gpu_count_as_what_they_are(imported: Importer) -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-L4-SHARED", "nvidia.com/gpu.replicas": "4"}
    queue = a_cluster_queue("q", a_quota(10, "l4", of="nvidia.com/gpu"))
    found = imported(a_flavor("l4", labels), queue)
    assert found.quotas("q") == {"NVIDIA-L4": ("2.5", "2.5")}


def test_flavors_of_one_type_are_added_up(imported: Importer) -> None:
    product = {"nvidia.com/gpu.product": "NVIDIA-L4"}
    flavors = [a_flavor("reserved", {**product, "a": "b"}), a_flavor("rest", {**product, "a": "c"})]
    found = imported(*flavors, a_cluster_queue("q", a_quota(1, "reserved"), a_quota(2, "rest")))
    assert found.quotas("q") == {"NVIDIA-L4": (3, 3)}
    assert "are added up" in found.note("reserved, rest are all NVIDIA-L4")


def test_what_has_no_gpus_is_left_to_kueue(imported: Importer) -> None:
    found = imported(a_cluster_queue("q", a_quota(9, of="cpu")))
    assert found.ran.status == 2
    assert found.objects == {}
    assert "have no GPUs" in found.note("ClusterQueue q")


def test_a_priority_becomes_a_class_that_evicts_nobody_by_itself(imported: Importer) -> None:
    found = imported(
        kueue("WorkloadPriorityClass", "high", value=10, description="For emergencies"),
        kueue("WorkloadPriorityClass", "there", value=10),
        kueue("WorkloadPriorityClass", "other", value=10),
        kueue("WorkloadPriorityClass", "huge", value=2_000_000_000),
        a_priority_class("there", 10),
        a_priority_class("other", 11),
    )
    assert [*found.objects] == [("PriorityClass", "high")]
    made = found.objects["PriorityClass", "high"]
    assert (made["value"], made["preemptionPolicy"]) == (10, "Never")
    assert "there is a PriorityClass other of 11" in found.note("WorkloadPriorityClass other")
    assert "at most 1000000000" in found.note("WorkloadPriorityClass huge")


def test_a_cohort_with_the_name_of_a_queue_gets_another(imported: Importer) -> None:
    found = imported(H100, a_cluster_queue("team", a_quota(8), cohort="team"))
    assert found.queue("team")["parent"] == "cohort-team"
    assert "the Cohort is JobQueue cohort-team" in found.note("Cohort team")


def test_a_circle_of_cohorts_is_cut(imported: Importer) -> None:
    circle = a_cohort("a", parent="b"), a_cohort("b", parent="a")
    found = imported(H100, *circle, a_cluster_queue("q", a_quota(8), cohort="a"))
    assert "parent" not in found.queue("a")
    assert found.queue("q")["parent"] == "a"
    assert len([each for each in found.notes if "leads in a circle" in each]) == 2


LOSSES = {
    "StrictFIFO": {"queueingStrategy": "StrictFIFO"},
    "past use": {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}},
    "AdmissionCheck": {"admissionChecksStrategy": {"admissionChecks": [{"name": "prov"}]}},
    "withinClusterQueue: Never": {"preemption": {"reclaimWithinCohort": "Any"}},
    "reclaimWithinCohort: Never": {"preemption": {"withinClusterQueue": "LowerPriority"}},
    "plans move": {"concurrentAdmissionPolicy": {"migration": {"mode": "TryPreferredFlavors"}}},
    "0 is no weight": {"fairSharing": {"weight": 0}},
}


@pytest.mark.parametrize(("words", "spec"), LOSSES.items(), ids=LOSSES)
def test_what_is_not_carried_over_is_said(imported: Importer, words: str, spec: Manifest) -> None:
    queue = a_cluster_queue("team", a_quota(8), cohort="c", **spec)
    found = imported(H100, queue, a_local_queue("a", "team"))
    assert found.note("").startswith("ClusterQueue team: spec.")
    assert words in found.note("")


WRONG = {
    "a quantity": a_cluster_queue("bad", a_quota("much")),
    "a negative quantity": a_cluster_queue("bad", a_quota(-1)),
    "a type": a_cluster_queue("bad", stopPolicy=7),
    "a name": a_cluster_queue("Not_A_Name", a_quota(1)),
    "a version": {**a_cluster_queue("bad", a_quota(1)), "apiVersion": "kueue.x-k8s.io/v1"},
    "a kind": kueue("AdmissionCheck", "bad", spec={}),
    "a second one": a_cluster_queue("good", a_quota(5)),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_malformed_object_costs_itself(imported: Importer, wrong: Manifest) -> None:
    good = a_cluster_queue("good", a_quota(8)), a_local_queue("a", "good")
    found = imported(H100, *good, wrong)
    assert found.ran.status == 0
    assert found.quotas("good") == {"h100": (8, 8)}
    assert [each for _, each in found.objects] == ["h100", "good"]
    assert found.note("left out").startswith(f"{wrong['kind']} {wrong['metadata']['name']} (")


def test_what_kueue_keeps_for_itself_and_what_is_not_kueues_is_passed_over(
    imported: Importer,
) -> None:
    others = kueue("Workload", "w", namespace="a"), {"apiVersion": "v1", "kind": "Secret"}
    good = a_cluster_queue("good", a_quota(8)), a_local_queue("a", "good")
    assert imported(H100, *good, *others).notes == []


def test_files_without_kueue_are_an_error(imported: Importer) -> None:
    found = imported(fake_node("n"))
    assert found.ran.status == 2
    assert found.ran.out == ""
    assert "there is no object of kueue.x-k8s.io" in found.ran.err


def test_a_file_that_is_not_there_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "import", "kueue", "-f", "nowhere.yaml")
    assert (ran.status, ran.out) == (2, "")
    assert "nowhere.yaml: cannot be read" in ran.err


def test_words_of_users_cannot_leave_a_comment(imported: Importer) -> None:
    labels = {"nvidia.com/gpu.product": "h100"}
    evil = a_cluster_queue("q\u2028kind: Secret\n---\n", a_quota(1))
    found = imported(a_flavor("h100", labels), evil, a_cluster_queue("q", a_quota(1)))
    assert {kind for kind, _ in found.objects} == {"GPUPool", "JobQueue"}
