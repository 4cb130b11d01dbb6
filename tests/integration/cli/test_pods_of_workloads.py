"""The pods of a workload of another kind are known as its own, whatever has made them."""

import json

import pytest

from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from support.clusters.scene import Scene
from support.clusters.workload_lives import adopted
from support.objects.workloads import a_jobset, asking, held, replicated
from support.programs.cli_runs import run

pytestmark = pytest.mark.slow

OPERATOR_ENVIRONMENT = {"PLIMSOLL_ADOPTS_JOBS": "true"}


@pytest.mark.usefixtures("jobset_controller")
def test_the_tree_of_a_jobset_has_its_workers_and_the_driver_that_no_plan_places(
    scene: Scene, control_plane: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.add_nodes(fake_node("only", gpus=2))
    parts = [replicated("driver"), replicated("workers", workers=2, gpus=1)]
    scene.running(adopted(scene, held(asking(a_jobset("embed", replicatedJobs=parts)))))
    where = ("-n", scene.namespace, "--kubeconfig", str(control_plane.kubeconfig))
    ran = run(capsys, "tree", "jobset/embed", "-o", "json", *where)
    assert (ran.status, "jobs.batch" in ran.err) == (0, False), ran.err
    (job,) = json.loads(ran.out)["queues"][0]["jobs"]
    assert job["workload"] == "JobSet/embed"
    pods = {role["role"]: [pod["name"] for pod in role["pods"]] for role in job["roles"]}
    assert [name.rpartition("-")[0] for name in pods["beside"]] == ["embed-driver-0-0"]
    assert [name.rpartition("-")[0] for name in pods["worker"]] == [
        "embed-workers-0-0",
        "embed-workers-0-1",
    ]
