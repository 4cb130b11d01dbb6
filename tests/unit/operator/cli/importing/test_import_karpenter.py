"""What becomes of Karpenter's NodePools, and what is said of the rest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from plimsoll_devcluster.fake_nodes import CAPACITY_TYPE, ZONE, fake_node
from plimsoll_devcluster.gpu_models import H100, L4
from plimsoll_devcluster.manifest import Manifest, manifests_in
from support.objects.karpenter import INSTANCE_TYPE
from support.programs.cli_runs import Ran, run, written

FAMILY = "karpenter.k8s.aws/instance-family"
GPU_COUNT = "karpenter.k8s.aws/instance-gpu-count"
CLASS = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"}
P5 = "p5.48xlarge"
LIMITED = {"nvidia.com/gpu": "16"}


@dataclass(frozen=True, slots=True)
class Import:
    """What was printed, and what was said."""

    ran: Ran

    @property
    def pools(self) -> dict[str, Any]:
        """The specs of the GPUPools by name."""
        found = manifests_in(self.ran.out)
        assert {each["kind"] for each in found} <= {"GPUPool"}
        return {each["metadata"]["name"]: each["spec"] for each in found}

    @property
    def notes(self) -> list[str]:
        said = [line.removeprefix("plimsoll: ") for line in self.ran.err.splitlines()]
        head = self.ran.out.partition("---")[0]
        assert all(f"# {each}\n" in head for each in said), "they stand in the YAML too"
        return said


Importer = Callable[..., Import]


@pytest.fixture
def imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Importer:
    def of(*manifests: Manifest, options: Sequence[str] = ()) -> Import:
        path = written(tmp_path, "pools.yaml", *manifests)
        return Import(run(capsys, "import", "karpenter", "-f", path, *options))

    return of


def is_one_of(key: str, *values: str) -> Manifest:
    return {"key": key, "operator": "In", "values": [*values]}


def a_node_pool(
    *requirements: Manifest,
    name: str = "gpu",
    template: Manifest | None = None,
    **spec: Any,  # noqa: ANN401 - fields of a spec
) -> Manifest:
    """A NodePool of EC2 instances in one zone, on demand unless it says otherwise."""
    told = {each["key"] for each in requirements}
    usual = [is_one_of(ZONE, "us-east-1a"), is_one_of(CAPACITY_TYPE, "on-demand")]
    stated = [*requirements, *(each for each in usual if each["key"] not in told)]
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "limits": LIMITED,
            **spec,
            "template": {
                "spec": {"nodeClassRef": CLASS, "requirements": stated, **(template or {})}
            },
        },
    }


def test_a_pool_of_one_kind_of_node_becomes_a_gpu_pool_that_orders_just_that(
    imported: Importer,
) -> None:
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    arch = is_one_of("kubernetes.io/arch", "amd64")
    pool = a_node_pool(is_one_of(INSTANCE_TYPE, P5), arch, template={"taints": [taint]})
    pool["spec"]["template"]["metadata"] = {"labels": {"team": "ml"}}
    found = imported(pool)
    assert found.ran.status == 0
    assert found.notes == []
    assert found.pools == {
        "gpu": {
            "nodeSelector": {"plimsoll.dev/pool": "gpu"},
            "gpuType": H100,
            "gpusPerNode": 8,
            "capacityType": "OnDemand",
            "provisioning": {
                "max": 2,
                "maxAge": "720h",
                "nodeClaim": {
                    "metadata": {"labels": {"team": "ml"}},
                    "spec": {
                        "nodeClassRef": CLASS,
                        "taints": [taint],
                        "requirements": [
                            is_one_of(INSTANCE_TYPE, P5),
                            is_one_of(ZONE, "us-east-1a"),
                            arch,
                        ],
                    },
                },
            },
        }
    }


def test_each_instance_type_zone_and_capacity_type_is_a_pool_of_its_own(imported: Importer) -> None:
    pool = a_node_pool(
        is_one_of(INSTANCE_TYPE, P5, "g6.48xlarge"),
        is_one_of(ZONE, "us-east-1a", "us-east-1b"),
        is_one_of(CAPACITY_TYPE, "spot", "on-demand"),
    )
    found = imported(pool)
    assert len(found.pools) == 8
    one = found.pools["gpu-g6-48xlarge-us-east-1b-spot"]
    assert (one["gpuType"], one["capacityType"]) == (L4, "Spot")
    required = one["provisioning"]["nodeClaim"]["spec"]["requirements"]
    assert required == [is_one_of(INSTANCE_TYPE, "g6.48xlarge"), is_one_of(ZONE, "us-east-1b")]
    (shared,) = found.notes
    assert "each of the 8 GPUPools may have as many nodes" in shared
    assert "purchasing.mostPerHour" in shared


def test_instance_types_of_families_are_those_that_all_requirements_allow(
    imported: Importer,
) -> None:
    found = imported(
        a_node_pool(
            is_one_of(FAMILY, "p5", "g6", "g5"),
            {"key": FAMILY, "operator": "NotIn", "values": ["g5"]},
            {"key": GPU_COUNT, "operator": "Gte", "values": ["8"]},
        )
    )
    assert sorted(found.pools) == ["gpu-g6-48xlarge", "gpu-p5-48xlarge"]
    required = found.pools["gpu-p5-48xlarge"]["provisioning"]["nodeClaim"]["spec"]["requirements"]
    assert {each["key"] for each in required} == {INSTANCE_TYPE, ZONE, FAMILY, GPU_COUNT}


def test_nodes_say_what_their_instance_type_has(imported: Importer) -> None:
    labels = {INSTANCE_TYPE: "bigbox.2", "karpenter.sh/nodepool": "gpu", ZONE: "elsewhere"}
    node = fake_node("n", gpu_type=L4, gpus=2, cpu="30", memory="100Gi", labels=labels)
    node["status"]["allocatable"] |= {"vpc.amazonaws.com/efa": "4", "example.com/unknown": "1"}
    found = imported(a_node_pool(), node)
    spec = found.pools["gpu"]
    assert (spec["gpuType"], spec["gpusPerNode"]) == (L4, 2)
    assert (spec["provisioning"]["cpu"], spec["provisioning"]["memory"]) == ("30", "100Gi")
    assert spec["provisioning"]["resources"] == {"vpc.amazonaws.com/efa": "4"}
    assert spec["provisioning"]["max"] == 8


def test_the_user_says_what_an_unknown_instance_type_has(imported: Importer) -> None:
    pool = a_node_pool(is_one_of(INSTANCE_TYPE, "bigbox.2"))
    unknown = imported(pool)
    assert unknown.ran.status == 2
    assert unknown.pools == {}
    (said,) = unknown.notes
    assert "nothing is known of the GPUs of bigbox.2" in said
    known = imported(pool, options=("--gpu-type", "bigbox.2=NVIDIA-L4:2"))
    assert known.ran.status == 0
    assert known.pools["gpu"]["gpusPerNode"] == 2
    assert known.notes == []


@pytest.mark.parametrize("gpus", ["bigbox.2", "bigbox.2=NVIDIA-L4", "=L4:2", "a=L4:0", "a=?:1"])
def test_what_a_user_says_of_gpus_has_a_form(
    gpus: str, imported: Importer, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        imported(a_node_pool(), options=("--gpu-type", gpus))
    assert ended.value.code == 2
    assert "not of the form INSTANCE=TYPE:COUNT" in capsys.readouterr().err


def test_a_pool_without_gpus_is_left_to_karpenter(imported: Importer) -> None:
    of_cpus = is_one_of("karpenter.k8s.aws/instance-category", "c", "m")
    found = imported(
        a_node_pool(of_cpus, name="default"), a_node_pool(is_one_of(INSTANCE_TYPE, P5))
    )
    assert [*found.pools] == ["gpu"]
    (said,) = found.notes
    assert said.startswith("NodePool default: ")
    assert "leave the pool to Karpenter if none has" in said


def test_what_is_not_carried_over_is_said_with_the_remedy(imported: Importer) -> None:
    pool = a_node_pool(
        {**is_one_of(INSTANCE_TYPE, P5), "minValues": 1},
        limits={"cpu": "1000"},
        weight=5,
        replicas=2,
        disruption={"consolidateAfter": "5m", "budgets": [{"nodes": "1"}]},
    )
    pool["spec"]["template"]["spec"]["requirements"] = pool["spec"]["template"]["spec"][
        "requirements"
    ][:1]
    found = imported(pool)
    assert found.pools["gpu"]["provisioning"]["max"] == 10
    for field, remedy in {
        "name no karpenter.sh/capacity-type": "add spot",
        "name no topology.kubernetes.io/zone": "name the zones",
        "minValues": "of one kind",
        "spec.limits": "write what you would have at most",
        "spec.replicas": "provisioning.min",
        "spec.disruption.consolidateAfter": "provisioning.idleTime",
        "spec.disruption.budgets": "disruptionBudgets",
        "spec.weight": "by price",
    }.items():
        (line,) = (each for each in found.notes if field in each)
        assert remedy in line


def test_a_limit_of_less_than_a_node_allows_none(imported: Importer) -> None:
    pool = a_node_pool(is_one_of(INSTANCE_TYPE, P5), limits={"nvidia.com/gpu": "4"})
    assert imported(pool).pools["gpu"]["provisioning"]["max"] == 0


def test_what_karpenter_fills_in_by_itself_is_not_spoken_of(imported: Importer) -> None:
    usual = {
        "budgets": [{"nodes": "10%"}],
        "consolidateAfter": "0s",
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
    }
    pool = a_node_pool(is_one_of(INSTANCE_TYPE, P5), disruption=usual)
    never = a_node_pool(
        is_one_of(INSTANCE_TYPE, P5), name="kept", template={"expireAfter": "Never"}
    )
    found = imported(pool, never)
    assert found.notes == []
    assert "maxAge" not in found.pools["kept"]["provisioning"]


def test_a_pool_of_too_many_kinds_of_nodes_is_left_out(imported: Importer) -> None:
    zones = [f"zone-{number}" for number in range(30)]
    found = imported(
        a_node_pool(
            is_one_of(INSTANCE_TYPE, P5, "p5.4xlarge", "g6.xlarge"), is_one_of(ZONE, *zones)
        )
    )
    assert found.ran.status == 2
    (said,) = found.notes
    assert "allow 90 kinds of nodes" in said
    assert "allow fewer" in said


def test_long_names_are_shortened_and_stay_apart(imported: Importer) -> None:
    pool = a_node_pool(
        is_one_of(INSTANCE_TYPE, P5),
        is_one_of(CAPACITY_TYPE, "spot", "on-demand"),
        name="a" * 60,
    )
    names = [*imported(pool).pools]
    assert len(set(names)) == 2
    assert all(len(name) <= 50 for name in names)


def test_pools_of_two_node_pools_have_names_of_their_own(imported: Importer) -> None:
    of_two = a_node_pool(
        is_one_of(INSTANCE_TYPE, P5), is_one_of(ZONE, "us-east-1a", "us-east-1b"), name="gpu"
    )
    of_one = a_node_pool(is_one_of(INSTANCE_TYPE, P5), name="gpu-us-east-1a")
    found = imported(of_two, of_one).pools
    assert len(found) == 3
    assert {"gpu-us-east-1a", "gpu-us-east-1b"} <= found.keys()
    assert {each["nodeSelector"]["plimsoll.dev/pool"] for each in found.values()} == found.keys()


def test_a_malformed_pool_costs_itself(imported: Importer) -> None:
    wrong = a_node_pool(is_one_of(INSTANCE_TYPE, P5), name="wrong")
    wrong["spec"]["template"]["spec"]["requirements"][0]["values"] = P5
    old = {**a_node_pool(is_one_of(INSTANCE_TYPE, P5), name="old")}
    old["apiVersion"] = "karpenter.sh/v1beta1"
    found = imported(wrong, old, a_node_pool(is_one_of(INSTANCE_TYPE, P5)))
    assert [*found.pools] == ["gpu"]
    assert any("wrong" in each and "requirements" in each for each in found.notes)
    assert any("old" in each and "must be karpenter.sh/v1" in each for each in found.notes)
