"""What the models write into a status, a real API server keeps whole."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from plimsoll.api.gpu_pool import (
    GPUPoolStatus,
    MeasuredPower,
    ProvisioningStatus,
    SpotHistory,
)
from plimsoll.api.inference_job import (
    BacklogStatus,
    BucketLoad,
    InferenceJobStatus,
    InferencePlacement,
    LoadStatus,
    PoolReplicas,
    RoleStatus,
    TargetStatus,
    UnservedLoad,
)
from plimsoll.api.job_queue import JobQueueStatus, QuotaUsage
from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll.api.model import ApiModel
from plimsoll.api.parts.batch import PlacedBatch
from plimsoll.api.parts.conditions import Condition
from plimsoll.api.parts.disruption import LostWork
from plimsoll.api.parts.placement import Admission, Assignment, AvoidedNode
from plimsoll.api.parts.progress import GpuSpeed, MeasuredRate, Notice, Progress
from plimsoll.api.parts.role_power import RolePower
from plimsoll.api.parts.stragglers import ReplacedWorker, SlowWorker
from plimsoll.api.placement_policy import (
    EnergyCount,
    PlacementPolicyStatus,
    PlannedAction,
    PlanSummary,
)
from plimsoll.api.power_domain import PowerDeviation, PowerDomainStatus
from plimsoll.api.training_job import TrainingJobStatus, TrainingPlacement, WorkerFailure
from plimsoll_devcluster.api_server import ApiServer
from support.objects.manifests import (
    Manifest,
    gpu_pool,
    inference_job,
    job_queue,
    placement_policy,
    power_domain,
    training_job,
)

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


def power(role: str) -> tuple[RolePower, ...]:
    return (
        RolePower(
            role=role,
            expected_watts=500,
            measured_watts=586,
            percent=Decimal("119.545"),
            planned_percent=120,
            seconds=240,
            observed_time=NOW,
        ),
    )


ADMISSION = Admission(queue="team", priority_class_name="batch", priority=-10)

TRAINING = TrainingJobStatus(
    observed_generation=3,
    conditions=CONDITIONS,
    reason="Placed",
    message="runs on 600 nodes",
    placement=TrainingPlacement(
        batch=PlacedBatch(size=96, local=16, accumulation=3),
        revision=2,
        accelerator_type=H100,
        pool="h100",
        workers=600,
        assignments=assignments(600),
    ),
    admission=ADMISSION,
    revision=2,
    worker_count=600,
    selector="plimsoll.dev/job-name=train",
    nodes_summary="gpu-node-[0-599]",
    progress=Progress(
        done=Decimal("1.5"),
        percent=50,
        rate=Decimal("0.25"),
        gradient_noise=Decimal(1000),
        saved_done=Decimal(1),
        last_checkpoint=NOW,
        reported_time=NOW,
    ),
    speeds=(GpuSpeed(type=H100, percent=100, basis="Measured"),),
    measured=(MeasuredRate(type=H100, workers=600, batch=96, rate=Decimal("0.25"), seconds=60),),
    power=power("worker"),
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
    lost_work=(LostWork(time=NOW, gpu_seconds=2400),),
    avoided_nodes=(AvoidedNode(node="gpu-node-7", until=NOW),),
    refusals=2,
    slow_workers=(
        SlowWorker(
            replica=1,
            node="gpu-node-7",
            since=NOW,
            compute_seconds=Decimal("0.45"),
            gang_seconds=Decimal("0.25"),
            lost_percent=36,
            found_time=NOW,
        ),
    ),
    replaced_workers=(
        ReplacedWorker(replica=1, workers=4, node="gpu-node-6", time=NOW, until=NOW),
    ),
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
    admission=ADMISSION,
    revision=2,
    roles=(
        RoleStatus(
            name="server",
            wanted=2,
            ready=1,
            pools=(PoolReplicas(pool="h100", accelerator_type=H100, wanted=2, ready=1),),
            loads=(
                BucketLoad(
                    bucket="any",
                    observed=Decimal("2.5"),
                    forecast=Decimal(3),
                    wanted=Decimal("3.2"),
                    since=NOW,
                    quantile=Decimal("0.953"),
                    unserved=UnservedLoad(
                        percent=Decimal("0.71"), load=Decimal("2.4"), seconds=86_400, time=NOW
                    ),
                ),
            ),
        ),
    ),
    power=power("server"),
    target=TargetStatus(replicas=2, reached=True, found=1, overridden_times=(NOW,)),
    replicas=2,
    ready_summary="1/2",
    selector="plimsoll.dev/job-name=serve",
    nodes_summary="gpu-node-[0-1]",
    accelerators_summary=H100,
    load=LoadStatus(observed=Decimal("2.5"), forecast=Decimal(3)),
    backlog=BacklogStatus(
        left=Decimal(7200), expected_completion=NOW, late_by=timedelta(minutes=30)
    ),
    slo_attainment_percent=Decimal("99.5"),
    cost_per_hour=Decimal("7.8"),
    disruption_times=(NOW,),
    avoided_nodes=(AvoidedNode(node="gpu-node-7", until=NOW),),
    refusals=2,
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
    power=MeasuredPower(
        typical_watts=Decimal("512.345"), planned_watts=510, seconds=3600, observed_time=NOW
    ),
    provisioning=ProvisioningStatus(
        ordered=("h100-1", "h100-2"),
        failures=2,
        retry_time=NOW,
        cpu=Decimal("191.5"),
        memory=Decimal(2**41),
        resources={"vpc.amazonaws.com/efa": Decimal(32), "ephemeral-storage": Decimal(2**40)},
        dollars_per_hour=Decimal("110.08"),
        price_per_gpu_hour=Decimal("6.88"),
        advised_nodes=3,
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
    capped_nodes=1,
    payers=("TrainingJob/default/train",),
    calm_since=NOW,
    reduced_watts=8500,
    reduced_time=NOW,
    deviation=PowerDeviation(
        percent=Decimal("43.21"), planned_percent=50, seconds=7200, observed_time=NOW
    ),
)
QUEUE = JobQueueStatus(
    observed_generation=1,
    conditions=CONDITIONS,
    usage=(
        QuotaUsage(
            type=H100,
            used=Decimal(12),
            borrowed=Decimal(4),
            average=Decimal("7.123456"),
            fair_share=Decimal("10.667"),
        ),
    ),
    usage_summary="H100 12/8",
    average_summary="7.1 × H100",
    counted_until=NOW,
    pending=3,
    admitted=2,
)
POLICY = PlacementPolicyStatus(
    observed_generation=1,
    conditions=CONDITIONS,
    last_plan=PlanSummary(time=NOW, gap_percent=Decimal("1.5"), admitted=9, held=3, actions=12),
    energy=EnergyCount(factor=Decimal("1.58"), observed_time=NOW),
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
