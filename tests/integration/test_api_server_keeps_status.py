"""What the models write into a status, a real API server keeps whole."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from manifests import (
    Manifest,
    gpu_pool,
    inference_job,
    job_queue,
    placement_policy,
    power_domain,
    training_job,
)
from plimsoll.api.conditions import Condition
from plimsoll.api.gpu_pool import GPUPoolStatus, SpotHistory
from plimsoll.api.inference_job import (
    InferenceJobStatus,
    InferencePlacement,
    LoadStatus,
    PoolReplicas,
    RoleStatus,
)
from plimsoll.api.job_parts import Assignment, AvoidedNode
from plimsoll.api.job_queue import JobQueueStatus, QuotaUsage
from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll.api.model import ApiModel
from plimsoll.api.placement_policy import PlacementPolicyStatus, PlannedAction, PlanSummary
from plimsoll.api.power_domain import PowerDomainStatus
from plimsoll.api.progress import MeasuredRate, Notice, Progress
from plimsoll.api.training_job import TrainingJobStatus, TrainingPlacement, WorkerFailure
from plimsoll_devcluster.api_server import ApiServer

H100 = "NVIDIA-H100-80GB-HBM3"
NOW = datetime(2026, 11, 21, 8, 30, 15, 250_000, tzinfo=UTC)
CONDITIONS = (
    Condition(
        type="Admitted",
        status="True",
        reason="Placed",
        message="runs on 2 nodes",
        last_transition_time=NOW,
        observed_generation=3,
    ),
)


def assignments(count: int) -> tuple[Assignment, ...]:
    return tuple(
        Assignment(
            role="worker",
            replica=rank,
            nodes=(f"gpu-node-{rank}.example.internal",),
            pool="h100",
            accelerator_type=H100,
            revision=2,
        )
        for rank in range(count)
    )


TRAINING = TrainingJobStatus(
    observed_generation=3,
    conditions=CONDITIONS,
    reason="Placed",
    message="runs on 600 nodes",
    placement=TrainingPlacement(
        revision=2, accelerator_type=H100, pool="h100", workers=600, assignments=assignments(600)
    ),
    revision=2,
    worker_count=600,
    selector="plimsoll.dev/job-name=train",
    nodes_summary="gpu-node-[0-599]",
    progress=Progress(
        done=Decimal("1.5"),
        percent=50,
        rate=Decimal("0.25"),
        saved_done=Decimal(1),
        last_checkpoint=NOW,
        reported_time=NOW,
    ),
    measured=(MeasuredRate(type=H100, workers=600, rate=Decimal("0.25"), seconds=60),),
    notice=Notice(
        id="2-1",
        reason="Preempted",
        message="why",
        sent_time=NOW,
        deadline=NOW,
        revision=1,
        workers=(0, 1),
    ),
    expected_completion=NOW,
    restarts=1,
    restart_times=(NOW,),
    failures=(WorkerFailure(node="gpu-node-7", time=NOW, message="failed"),),
    next_restart_time=NOW,
    disruption_times=(NOW,),
    avoided_nodes=(AvoidedNode(node="gpu-node-7", until=NOW),),
    admitted_time=NOW,
    started_time=NOW,
    finished_time=NOW,
)
INFERENCE = InferenceJobStatus(
    observed_generation=3,
    conditions=CONDITIONS,
    reason="Placed",
    message="two replicas",
    placement=InferencePlacement(revision=2, assignments=assignments(2)),
    revision=2,
    roles=(
        RoleStatus(
            name="server",
            wanted=2,
            ready=1,
            pools=(PoolReplicas(pool="h100", accelerator_type=H100, wanted=2, ready=1),),
        ),
    ),
    replicas=2,
    ready_summary="1/2",
    selector="plimsoll.dev/job-name=serve",
    nodes_summary="gpu-node-[0-1]",
    accelerators_summary=H100,
    load=LoadStatus(observed=Decimal("2.5"), forecast=Decimal(3)),
    slo_attainment_percent=Decimal("99.5"),
    cost_per_hour=Decimal("7.8"),
    disruption_times=(NOW,),
    avoided_nodes=(AvoidedNode(node="gpu-node-7", until=NOW),),
    admitted_time=NOW,
    started_time=NOW,
)
POOL = GPUPoolStatus(
    observed_generation=1,
    conditions=CONDITIONS,
    gpu_type=H100,
    nodes=4,
    nodes_ready=3,
    gpus=32,
    gpus_used=Decimal("12.25"),
    spot=SpotHistory(
        interruptions=Decimal("2.5"),
        node_hours=Decimal("310.123456"),
        interruptions_per_hour=Decimal("0.021"),
        noticed_nodes=("node-1", "node-0"),
        observed_time=NOW,
    ),
)
DOMAIN = PowerDomainStatus(
    observed_generation=1,
    conditions=CONDITIONS,
    nodes=4,
    budget_watts=9000,
    expected_watts=8000,
    measured_watts=7900,
    capped_watts=100,
)
QUEUE = JobQueueStatus(
    observed_generation=1,
    conditions=CONDITIONS,
    usage=(QuotaUsage(type=H100, used=Decimal(12), borrowed=Decimal(4)),),
    usage_summary="H100 12/8",
    pending=3,
    admitted=2,
)
POLICY = PlacementPolicyStatus(
    observed_generation=1,
    conditions=CONDITIONS,
    last_plan=PlanSummary(time=NOW, gap_percent=Decimal("1.5"), admitted=9, held=3, actions=12),
    actions=(
        PlannedAction(job="TrainingJob/default/train", action="Admit", reason="Placed", message=""),
    ),
)


@pytest.mark.parametrize(
    ("manifest", "status"),
    [
        (training_job(), TRAINING),
        (inference_job(), INFERENCE),
        (gpu_pool(), POOL),
        (power_domain(), DOMAIN),
        (job_queue(), QUEUE),
        (placement_policy(), POLICY),
    ],
    ids=KIND_BY_NAME.keys(),
)
def test_a_status_is_kept_whole(
    api: ApiServer, namespace: str, manifest: Manifest, status: ApiModel
) -> None:
    assert status.model_fields_set == type(status).model_fields.keys()
    definition = KIND_BY_NAME[manifest["kind"]].definition
    scope = f"/namespaces/{namespace}" if definition.namespaced else ""
    collection = f"/apis/plimsoll.dev/v1alpha1{scope}/{definition.plural}"
    api.create(collection, manifest)
    path = f"{collection}/{manifest['metadata']['name']}"
    api.merge(f"{path}/status", {"status": status.wire()})
    kept = api.get(path)
    assert kept["status"] == status.wire()
    assert KIND_BY_NAME[manifest["kind"]].model_validate(kept).model_dump()["status"] == (
        status.model_dump()
    )
