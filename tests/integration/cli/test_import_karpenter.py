"""From a real NodePool come GPUPools, by which Plimsoll buys from the same Karpenter."""

import pytest

from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.karpenter.instance_types import EIGHT_H100
from plimsoll_devcluster.karpenter.process import NODE_CLAIMS, NODE_POOLS
from plimsoll_devcluster.manifest import manifests_in
from support.clusters.node_claims import NodeClaims
from support.clusters.scene import Scene
from support.objects.job_manifests import a_training_job
from support.objects.karpenter import a_node_pool
from support.programs.cli_runs import run

OPERATOR_ENVIRONMENT = {"PLIMSOLL_BUYS_NODES": "true"}
# It comes first, so that what it has made goes last: while there are pools and jobs, nodes would be
# ordered again.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("karpenter")]


def test_what_a_node_pool_could_buy_is_bought_by_plan(
    scene: Scene, control_plane: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    NodeClaims(scene.api, scene.namespace).set_boot_time(0)
    theirs = a_node_pool("gpu", EIGHT_H100, consolidateAfter="0s")
    scene.api.create(NODE_POOLS, theirs)
    ran = run(capsys, "import", "karpenter", "--kubeconfig", str(control_plane.kubeconfig))
    assert ran.status == 0, ran.err
    (pool,) = manifests_in(ran.out)
    pool["spec"]["provisioning"]["idleTime"] = "3s"
    scene.apply(pool, job := a_training_job("job", gpus=8, workers=2))
    scene.running(job)
    claims = scene.api.items(NODE_CLAIMS)
    assert len(claims) == 2
    assert {each["metadata"]["ownerReferences"][0]["kind"] for each in claims} == {"GPUPool"}
    assert not any("karpenter.sh/nodepool" in each["metadata"]["labels"] for each in claims)
    (after,) = scene.api.items(NODE_POOLS)
    assert after["spec"]["template"]["spec"]["requirements"]
