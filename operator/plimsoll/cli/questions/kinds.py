"""The kinds of objects that several questions need."""

from typing import Final

from plimsoll.cli.cluster.objects import (
    GPU_POOLS,
    INFERENCE_JOBS,
    JOB_QUEUES,
    POLICIES,
    POWER_DOMAINS,
    TRAINING_JOBS,
    GPUPool,
    InferenceJob,
    JobQueue,
    PlacementPolicy,
    PowerDomain,
    TrainingJob,
)
from plimsoll.cli.cluster.reading import Scope, Wanted
from plimsoll.kube.http.client import Selection
from plimsoll.kube.http.resources import NODES, PODS, PRIORITY_CLASSES
from plimsoll.kube.objects.objects import Node, Pod, PriorityClass

QUEUES: Final = Wanted(JOB_QUEUES, JobQueue)
POOLS: Final = Wanted(GPU_POOLS, GPUPool)
DOMAINS: Final = Wanted(POWER_DOMAINS, PowerDomain)
POLICY: Final = Wanted(POLICIES, PlacementPolicy)
PRIORITIES: Final = Wanted(PRIORITY_CLASSES, PriorityClass)
ALL_NODES: Final = Wanted(NODES, Node)
LIVING_PODS: Final = Wanted(
    PODS, Pod, Scope.ALL, Selection(fields="status.phase!=Succeeded,status.phase!=Failed")
)
"""The pods that hold something on their node."""
JOBS: Final = (Wanted(TRAINING_JOBS, TrainingJob), Wanted(INFERENCE_JOBS, InferenceJob))
OWN_JOBS: Final = (
    Wanted(TRAINING_JOBS, TrainingJob, Scope.OWN),
    Wanted(INFERENCE_JOBS, InferenceJob, Scope.OWN),
)
