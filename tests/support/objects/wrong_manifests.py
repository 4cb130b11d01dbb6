"""Manifests that are wrong in one place, each with the field and the remedy a user must read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from support.objects.manifests import (
    GONE,
    H100,
    Manifest,
    edited,
    gang_of_roles,
    gpu_pool,
    inference_job,
    job_queue,
    placement_policy,
    power_domain,
    target_ref,
    training_job,
)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A manifest that is refused, and what the refusal says."""

    claim: str
    base: Callable[[], Manifest]
    edits: dict[str, Any]
    field: str
    remedy: str

    @property
    def manifest(self) -> Manifest:
        """The wrong manifest."""
        return edited(self.base(), self.edits)


_W: Final = "spec.workers"
_C: Final = "spec.workers.template.spec.containers.0"
_C_FIELD: Final = "spec.workers.template.spec.containers[0]"
_T: Final = "spec.workers.template.spec"
_R: Final = "spec.roles.0"
_WHOLE: Final = "must be a whole number of GPUs, such as 8, or a fraction of one"
_DURATION: Final = "must be a duration above 0, such as 45s, 10m or 1h30m"
_LABEL: Final = "must be a node label value, such as NVIDIA-H100-80GB-HBM3"
_NODE_CLASS: Final = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"}
_RACK: Final = "plimsoll.dev/rack"
_POINT: Final = {"workers": 2, "rate": 3}

TRAINING: Final = (
    Wrong(
        "max below min",
        training_job,
        {f"{_W}.max": 1},
        f"{_W}.max",
        "must be at least min: raise max or lower min",
    ),
    Wrong(
        "no workers at all",
        training_job,
        {f"{_W}.min": 0},
        f"{_W}.min",
        "should be greater than or equal to 1",
    ),
    Wrong("no least count", training_job, {f"{_W}.min": GONE}, f"{_W}.min", "Required value"),
    Wrong(
        "a world size beyond max",
        training_job,
        {f"{_W}.allowed": [2, 8]},
        f"{_W}.allowed",
        "must not exceed max: remove the larger counts, or raise max",
    ),
    Wrong(
        "a world size beyond the only count",
        training_job,
        {f"{_W}.max": GONE, f"{_W}.allowed": [2, 4]},
        f"{_W}.allowed",
        "must not exceed max",
    ),
    Wrong(
        "no world size that is large enough",
        training_job,
        {f"{_W}.allowed": [1]},
        f"{_W}.allowed",
        "must include a count of at least min: add one, or lower min",
    ),
    Wrong(
        "a world size twice",
        training_job,
        {f"{_W}.allowed": [2, 2]},
        f"{_W}.allowed[1]",
        "Duplicate value: 2",
    ),
    Wrong(
        "one GPU and a half",
        training_job,
        {f"{_W}.gpusPerWorker": "1.5"},
        f"{_W}.gpusPerWorker",
        _WHOLE,
    ),
    Wrong("no GPU", training_job, {f"{_W}.gpusPerWorker": 0}, f"{_W}.gpusPerWorker", _WHOLE),
    Wrong(
        "less than no GPU",
        training_job,
        {f"{_W}.gpusPerWorker": "-0.5"},
        f"{_W}.gpusPerWorker",
        _WHOLE,
    ),
    Wrong(
        "GPUs in words",
        training_job,
        {f"{_W}.gpusPerWorker": "two"},
        f"{_W}.gpusPerWorker",
        _WHOLE,
    ),
    Wrong(
        "a fraction without quotes",
        training_job,
        {f"{_W}.gpusPerWorker": 0.5},
        f"{_W}.gpusPerWorker",
        "must be of type integer,string",
    ),
    Wrong(
        "memory and accelerators",
        training_job,
        {"spec.workers.minMemoryPerGPU": "40Gi"},
        "spec.workers.minMemoryPerGPU",
        "chooses GPU types where accelerators names none: remove one of the two",
    ),
    Wrong(
        "no memory",
        training_job,
        {"spec.accelerators": GONE, "spec.workers.minMemoryPerGPU": 0},
        "spec.workers.minMemoryPerGPU",
        "must be a number above 0",
    ),
    Wrong(
        "an accelerator twice",
        training_job,
        {"spec.accelerators.1": {"type": H100, "throughput": [_POINT]}},
        "spec.accelerators[1]",
        "Duplicate value",
    ),
    Wrong(
        "an accelerator that no label can name",
        training_job,
        {"spec.accelerators.0.type": "NVIDIA H100"},
        "spec.accelerators[0].type",
        _LABEL,
    ),
    Wrong(
        "no rate",
        training_job,
        {"spec.accelerators.0.throughput.0.rate": 0},
        "spec.accelerators[0].throughput[0].rate",
        "must be a number above 0",
    ),
    Wrong(
        "no container",
        training_job,
        {f"{_W}.template.spec.containers": []},
        f"{_W}.template.spec.containers",
        "should have at least 1 items",
    ),
    Wrong(
        "a container without an image",
        training_job,
        {f"{_C}.image": GONE},
        f"{_C_FIELD}.image",
        "Required value",
    ),
    Wrong(
        "GPUs asked for by the container",
        training_job,
        {f"{_C}.resources": {"limits": {"nvidia.com/gpu": 1}}},
        f"{_C_FIELD}.resources",
        "remove nvidia.com/gpu and the like; use gpusPerWorker or gpusPerReplica",
    ),
    Wrong(
        "a MIG slice asked for by the container",
        training_job,
        {f"{_C}.resources": {"requests": {"nvidia.com/mig-1g.10gb": "1"}}},
        f"{_C_FIELD}.resources",
        "must not request GPUs",
    ),
    Wrong(
        "memory in no unit that there is",
        training_job,
        {f"{_C}.resources": {"requests": {"memory": "64GB"}}},
        f"{_C_FIELD}.resources.requests[memory]",
        "must be a quantity of at least 0, such as 2, '0.5' or 64Gi",
    ),
    Wrong(
        "less than no memory",
        training_job,
        {f"{_C}.resources": {"requests": {"memory": "-1Gi"}}},
        f"{_C_FIELD}.resources.requests[memory]",
        "must be a quantity of at least 0",
    ),
    Wrong(
        "memory by an exponent that API servers choke on",
        training_job,
        {f"{_C}.resources": {"requests": {"memory": "1e2147483647"}}},
        f"{_C_FIELD}.resources.requests[memory]",
        "must be a quantity of at least 0",
    ),
    Wrong(
        "processors of the pod in words",
        training_job,
        {f"{_T}.resources": {"requests": {"cpu": "much"}}},
        f"{_T}.resources.requests.cpu",
        "should match",
    ),
    Wrong(
        "processors of the pod in a fraction without quotes",
        training_job,
        {f"{_T}.resources": {"requests": {"cpu": 0.5}}},
        f"{_T}.resources.requests.cpu",
        "must be of type integer,string",
    ),
    Wrong(
        "a priority in words",
        training_job,
        {f"{_T}.priority": "high"},
        f"{_T}.priority",
        "must be of type integer",
    ),
    Wrong(
        "volumes that are a number",
        training_job,
        {f"{_T}.volumes": 7},
        f"{_T}.volumes",
        "must be of type array",
    ),
    Wrong(
        "scheduling gates in a word",
        training_job,
        {f"{_T}.schedulingGates": "x"},
        f"{_T}.schedulingGates",
        "must be of type array",
    ),
    Wrong(
        "an environment that is a number",
        training_job,
        {f"{_C}.env": 7},
        f"{_C_FIELD}.env",
        "must be of type array",
    ),
    Wrong(
        "a variable that is a number",
        training_job,
        {f"{_C}.env": [{"name": "A", "value": 1}]},
        f"{_C_FIELD}.env[0].value",
        "must be of type string",
    ),
    Wrong(
        "mounts that are a number",
        training_job,
        {f"{_C}.volumeMounts": 7},
        f"{_C_FIELD}.volumeMounts",
        "must be of type array",
    ),
    Wrong(
        "an environment of a service that is a number",
        inference_job,
        {f"{_R}.template.spec.containers.0.env": 7},
        "spec.roles[0].template.spec.containers[0].env",
        "must be of type array",
    ),
    Wrong(
        "workers that never end",
        training_job,
        {f"{_W}.template.spec.restartPolicy": "Always"},
        f"{_W}.template.spec.restartPolicy",
        "must be Never or OnFailure, or omitted",
    ),
    Wrong(
        "a role that is called as the workers are",
        gang_of_roles,
        {f"{_R}.name": "worker", "spec.successPolicy.role": "worker"},
        "spec.roles[0].name",
        "must not be worker, which is the role of spec.workers: choose another name",
    ),
    Wrong(
        "a launcher that never ends",
        gang_of_roles,
        {f"{_R}.template.spec.restartPolicy": "Always"},
        "spec.roles[0].template.spec.restartPolicy",
        "must be Never or OnFailure, or omitted",
    ),
    Wrong(
        "GPU types for a role without GPUs",
        gang_of_roles,
        {f"{_R}.acceleratorTypes": [H100]},
        "spec.roles[0].acceleratorTypes",
        "chooses GPU types: set gpusPerReplica, or remove acceleratorTypes",
    ),
    Wrong(
        "fewer loaders beside more workers",
        gang_of_roles,
        {"spec.roles.1.replicas": {"min": 3, "max": 2}},
        "spec.roles[1].replicas.max",
        "must be at least min: raise max or lower min",
    ),
    Wrong(
        "success of a role that is not there",
        gang_of_roles,
        {"spec.successPolicy.role": "driver"},
        "spec.successPolicy.role",
        "must be worker, or the name of one of roles",
    ),
    Wrong(
        "more pods in all roles than a gang may have",
        gang_of_roles,
        {f"{_W}.max": 3073, "spec.roles.1.replicas": {"min": 1, "max": 1024}},
        "spec.roles",
        "has, with the workers, more than 4096 pods: lower workers.max, or the replicas",
    ),
    Wrong(
        "more roles than a gang may have",
        gang_of_roles,
        {
            "spec.roles": [
                {**gang_of_roles()["spec"]["roles"][0], "name": name} for name in "abcdefghi"
            ],
            "spec.successPolicy.role": "a",
        },
        "spec.roles",
        "must have at most 8 items",
    ),
    Wrong(
        "a node chosen by hand",
        training_job,
        {f"{_W}.template.spec.nodeName": "n1"},
        f"{_W}.template.spec.nodeName",
        "must be omitted: plans choose the nodes",
    ),
    Wrong(
        "a priority in the template",
        training_job,
        {f"{_W}.template.spec.priorityClassName": "urgent"},
        f"{_W}.template.spec.priorityClassName",
        "must be omitted: set the job's priorityClassName instead",
    ),
    Wrong(
        "less grace than a save takes",
        training_job,
        {f"{_W}.template.spec.terminationGracePeriodSeconds": 5},
        f"{_W}.template.spec.terminationGracePeriodSeconds",
        "must be at least checkpoint.saveSeconds (30 if not set), or omitted",
    ),
    Wrong(
        "a queue that nothing can be called",
        training_job,
        {"spec.queue": "Team A"},
        "spec.queue",
        "must be an object name of lower-case letters",
    ),
    Wrong(
        "no work to do",
        training_job,
        {"spec.work": {"amount": 0}},
        "spec.work.amount",
        "must be a number above 0",
    ),
    Wrong(
        "a deadline without a time",
        training_job,
        {"spec.work": {"amount": 1, "deadline": "tomorrow"}},
        "spec.work.deadline",
        "must be of type date-time",
    ),
    Wrong(
        "an interval without a unit",
        training_job,
        {"spec.checkpoint.interval": "10"},
        "spec.checkpoint.interval",
        _DURATION,
    ),
    Wrong(
        "checkpoints all the time",
        training_job,
        {"spec.checkpoint.interval": "0s"},
        "spec.checkpoint.interval",
        _DURATION,
    ),
    Wrong(
        "more than all on spot",
        training_job,
        {"spec.spot.maxSharePercent": 101},
        "spec.spot.maxSharePercent",
        "should be less than or equal to 100",
    ),
    Wrong(
        "a topology that no label can name",
        training_job,
        {"spec.topology.required": "same rack"},
        "spec.topology.required",
        "must be a node label key, such as topology.kubernetes.io/zone",
    ),
    Wrong(
        "what it costs to leave a domain that none is preferred of",
        training_job,
        {"spec.topology.communicationPercent": 20},
        "spec.topology.communicationPercent",
        "needs preferred, the level that it applies to: set preferred, or omit it",
    ),
    Wrong(
        "steps that are nothing but all-reduce, and more",
        training_job,
        {"spec.topology": {"preferred": "rack", "communicationPercent": 101}},
        "spec.topology.communicationPercent",
        "should be less than or equal to 100",
    ),
    Wrong(
        "a batch that shrinks",
        training_job,
        {"spec.batch": {"size": 64, "maxSize": 32}},
        "spec.batch.maxSize",
        "must be at least size: raise maxSize, or omit it",
    ),
    Wrong(
        "a batch without samples",
        training_job,
        {"spec.batch": {"size": 0}},
        "spec.batch.size",
        "should be greater than or equal to 1",
    ),
    Wrong(
        "steps that are unlike each other",
        training_job,
        {"spec.batch": {"size": 64, "maxSize": 128}, "spec.work": {"amount": 9}},
        "spec.work.unit",
        "count samples or tokens, or omit maxSize",
    ),
    Wrong(
        "a back-off that shrinks",
        training_job,
        {"spec.faultTolerance.backoff.initial": "1h"},
        "spec.faultTolerance.backoff.max",
        "must be at least initial: raise max or lower initial",
    ),
    Wrong(
        "a name too long for its pods",
        training_job,
        {"metadata.name": "t" * 49},
        "metadata.name",
        "must be at most 48 lower-case letters, digits and '-'",
    ),
)

INFERENCE: Final = (
    Wrong(
        "neither roles nor a target",
        inference_job,
        {"spec.roles": GONE},
        "spec",
        "needs either roles or targetRef",
    ),
    Wrong(
        "both roles and a target",
        inference_job,
        {"spec.targetRef": target_ref()},
        "spec",
        "needs either roles or targetRef",
    ),
    Wrong(
        "a role twice",
        inference_job,
        {"spec.roles.1": inference_job()["spec"]["roles"][0]},
        "spec.roles[1]",
        "Duplicate value",
    ),
    Wrong(
        "a role that no pod can be named after",
        inference_job,
        {f"{_R}.name": "Server_1"},
        "spec.roles[0].name",
        "must be at most 30 lower-case letters, digits and '-'",
    ),
    Wrong(
        "fewer replicas at most than at least",
        inference_job,
        {f"{_R}.replicas": {"min": 3, "max": 2}},
        "spec.roles[0].replicas.max",
        "must be at least min: raise max or lower min",
    ),
    Wrong(
        "a fixed count out of range",
        inference_job,
        {"spec.replicas": 4},
        "spec.replicas",
        "must be between replicas.min and replicas.max of the first role or of targetRef",
    ),
    Wrong(
        "a fixed count out of the target's range",
        inference_job,
        {"spec.roles": GONE, "spec.targetRef": target_ref(), "spec.replicas": 0},
        "spec.replicas",
        "widen these first",
    ),
    *(
        Wrong(
            f"a target's API version that is no version: {text!r}",
            inference_job,
            {"spec.roles": GONE, "spec.targetRef": {**target_ref(), "apiVersion": text}},
            "spec.targetRef.apiVersion",
            "must be an API version, such as apps/v1",
        )
        for text in ("../api/v1", "apps/v1/..", "apps//v1", "a..b/v1", "apps/v1?x=", "/v1", "apps/")
    ),
    Wrong(
        "a target's kind that is no kind",
        inference_job,
        {"spec.roles": GONE, "spec.targetRef": {**target_ref(), "kind": "../Deployment"}},
        "spec.targetRef.kind",
        "must be a kind, such as Deployment",
    ),
    Wrong(
        "a target's name that is no name",
        inference_job,
        {"spec.roles": GONE, "spec.targetRef": {**target_ref(), "name": "../web"}},
        "spec.targetRef.name",
        "must be an object name",
    ),
    Wrong(
        "pods as a target",
        inference_job,
        {
            "spec.roles": GONE,
            "spec.targetRef": {**target_ref(), "apiVersion": "v1", "kind": "Pod"},
        },
        "spec.targetRef.apiVersion",
        "only ReplicationController has a /scale",
    ),
    Wrong(
        "GPUs that cannot be shared out",
        inference_job,
        {f"{_R}.podsPerReplica": 2, f"{_R}.gpusPerReplica": 3},
        "spec.roles[0].gpusPerReplica",
        "must be a multiple of podsPerReplica",
    ),
    Wrong(
        "a fraction for a gang",
        inference_job,
        {f"{_R}.podsPerReplica": 2, f"{_R}.gpusPerReplica": "0.5"},
        "spec.roles[0].gpusPerReplica",
        "must be a multiple of podsPerReplica",
    ),
    Wrong(
        "a profile twice",
        inference_job,
        {f"{_R}.profiles.1": {"type": H100, "load": 1}},
        "spec.roles[0].profiles[1]",
        "Duplicate value",
    ),
    Wrong(
        "a replica that carries nothing",
        inference_job,
        {f"{_R}.profiles.0.load": "0"},
        "spec.roles[0].profiles[0].load",
        "must be a number above 0",
    ),
    Wrong(
        "servers that are not restarted",
        inference_job,
        {f"{_R}.template.spec.restartPolicy": "Never"},
        "spec.roles[0].template.spec.restartPolicy",
        "must be Always, or omitted",
    ),
    Wrong(
        "room for more than all load",
        inference_job,
        {"spec.load.forecast.quantile": 1},
        "spec.load.forecast.quantile",
        "must be above 0, below 1 and in quotes, such as '0.9'",
    ),
    Wrong(
        "a promise to more than all",
        inference_job,
        {"spec.slo.attainmentPercent": "100.1"},
        "spec.slo.attainmentPercent",
        "must be above 0 and at most 100, such as 99 or '99.9'",
    ),
    Wrong(
        "a latency in no unit",
        inference_job,
        {"spec.slo.timeToFirstToken": "0.5"},
        "spec.slo.timeToFirstToken",
        _DURATION,
    ),
    Wrong(
        "a server of unknown kind",
        inference_job,
        {"spec.load.server": "gRPC"},
        "spec.load.server",
        'supported values: "VLLM", "SGLang"',
    ),
)

CLUSTER: Final = (
    Wrong(
        "a pool of no nodes",
        gpu_pool,
        {"spec.nodeSelector": {}},
        "spec.nodeSelector",
        "should have at least 1 properties",
    ),
    Wrong(
        "power that does not rise",
        gpu_pool,
        {"spec.power.typicalWatts": 800},
        "spec.power",
        "must rise from idleWatts to typicalWatts to limitWatts",
    ),
    Wrong(
        "a cap below idle",
        gpu_pool,
        {"spec.power.minCapWatts": 50},
        "spec.power.minCapWatts",
        "must be between idleWatts and limitWatts, or omitted",
    ),
    Wrong(
        "nodes on unknown terms",
        gpu_pool,
        {"spec.capacityType": "spot"},
        "spec.capacityType",
        'supported values: "OnDemand", "Spot", "Reserved"',
    ),
    Wrong(
        "nodes of one's own that are taken back",
        gpu_pool,
        {"spec.interruptionsPerHour": "0.1"},
        "spec.interruptionsPerHour",
        "set capacityType to Spot, or omit it",
    ),
    Wrong(
        "GPUs that one is paid for",
        gpu_pool,
        {"spec.pricePerGPUHour": -1},
        "spec.pricePerGPUHour",
        "must be a number of at least 0",
    ),
    Wrong(
        "two kinds of domain by one label",
        gpu_pool,
        {"spec.topologyKeys": [{"name": n, "label": "plimsoll.dev/rack"} for n in ("row", "rack")]},
        "spec.topologyKeys",
        "remove the key that repeats one",
    ),
    Wrong(
        "a network without any bandwidth",
        gpu_pool,
        {"spec.topologyKeys": [{"name": "rack", "label": _RACK, "bandwidthGbps": 0}]},
        "spec.topologyKeys[0].bandwidthGbps",
        "must be a number above 0",
    ),
    Wrong(
        "more bandwidth across racks than within one",
        gpu_pool,
        {
            "spec.topologyKeys": [
                {"name": "block", "label": "plimsoll.dev/block", "bandwidthGbps": 400},
                {"name": "row", "label": "plimsoll.dev/row"},
                {"name": "rack", "label": _RACK, "bandwidthGbps": "12.5"},
            ]
        },
        "spec.topologyKeys",
        "reorder the keys, or lower bandwidthGbps of the wider level",
    ),
    Wrong(
        "nodes asked for that nothing is known of",
        gpu_pool,
        {"spec.provisioning": {"max": 4}},
        "spec.provisioning",
        "needs gpuType and gpusPerNode, since",
    ),
    Wrong(
        "fewer nodes at most than at least",
        gpu_pool,
        {"spec.gpuType": H100, "spec.gpusPerNode": 8, "spec.provisioning": {"min": 5, "max": 4}},
        "spec.provisioning.max",
        "must be at least min: raise max or lower min",
    ),
    Wrong(
        "nodes ordered from two",
        gpu_pool,
        {
            "spec.gpuType": H100,
            "spec.gpusPerNode": 8,
            "spec.provisioning": {
                "max": 4,
                "nodeClaim": {"spec": {"nodeClassRef": _NODE_CLASS}},
                "provisioningRequest": {},
            },
        },
        "spec.provisioning.provisioningRequest",
        "cannot be combined with nodeClaim",
    ),
    Wrong(
        "nodes ordered from a class that makes none",
        gpu_pool,
        {
            "spec.gpuType": H100,
            "spec.gpusPerNode": 8,
            "spec.provisioning": {
                "max": 4,
                "provisioningRequest": {"className": "check-capacity.autoscaling.x-k8s.io"},
            },
        },
        "spec.provisioning.provisioningRequest.className",
        "must be a class that makes nodes",
    ),
    Wrong(
        "CPUs of nodes to come among other resources",
        gpu_pool,
        {
            "spec.gpuType": H100,
            "spec.gpusPerNode": 8,
            "spec.provisioning": {"max": 4, "resources": {"cpu": "4"}},
        },
        "spec.provisioning.resources",
        "must name ephemeral-storage, hugepages-SIZE, or devices as DOMAIN/NAME",
    ),
    Wrong(
        "GPUs of nodes to come among other resources",
        gpu_pool,
        {
            "spec.gpuType": H100,
            "spec.gpusPerNode": 8,
            "spec.provisioning": {"max": 4, "resources": {"nvidia.com/gpu": "4"}},
        },
        "spec.provisioning.resources",
        "must name ephemeral-storage, hugepages-SIZE, or devices as DOMAIN/NAME",
    ),
    Wrong(
        "a resource that no node can have",
        gpu_pool,
        {
            "spec.gpuType": H100,
            "spec.gpusPerNode": 8,
            "spec.provisioning": {"max": 4, "resources": {"efa device": "4"}},
        },
        "spec.provisioning.resources",
        "must name ephemeral-storage, hugepages-SIZE, or devices as DOMAIN/NAME",
    ),
    Wrong(
        "no power at all",
        power_domain,
        {"spec.budgetWatts": 0},
        "spec.budgetWatts",
        "should be greater than or equal to 1",
    ),
    Wrong(
        "a step twice",
        power_domain,
        {"spec.reaction.order": ["Cap", "Cap"]},
        "spec.reaction.order",
        "must name each step once: remove the duplicate",
    ),
    Wrong(
        "a step that there is not",
        power_domain,
        {"spec.reaction.order": ["Kill"]},
        "spec.reaction.order[0]",
        'supported values: "Cap", "Shrink", "Preempt"',
    ),
    Wrong(
        "more guaranteed than allowed",
        job_queue,
        {"spec.quotas.0.limit": "7.5"},
        "spec.quotas[0].limit",
        "must be at least guaranteed: raise limit or lower guaranteed",
    ),
    Wrong(
        "a quota twice",
        job_queue,
        {"spec.quotas.1": {"type": H100}},
        "spec.quotas[1]",
        "Duplicate value",
    ),
    Wrong(
        "a queue above itself",
        job_queue,
        {"spec.parent": "research"},
        "spec.parent",
        "must be a different queue: name the one above, or omit parent",
    ),
    Wrong(
        "a selector that compares with nothing",
        job_queue,
        {"spec.namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In"}]}},
        "spec.namespaceSelector.matchExpressions[0].values",
        "must be set for In and NotIn, and omitted for Exists and DoesNotExist",
    ),
    Wrong(
        "a queue without weight",
        job_queue,
        {"spec.weight": 0},
        "spec.weight",
        "should be greater than or equal to 1",
    ),
    Wrong(
        "a queue whose jobs are disturbed a negative number of times",
        job_queue,
        {"spec.disruption": {"maxPerDay": -1}},
        "spec.disruption.maxPerDay",
        "should be greater than or equal to 0",
    ),
    Wrong(
        "failures in no namespace",
        placement_policy,
        {"spec.quarantine": {"distinctNamespaces": 0}},
        "spec.quarantine.distinctNamespaces",
        "should be greater than or equal to 1",
    ),
    Wrong(
        "a queue for fewer jobs than none",
        job_queue,
        {"spec.maxJobs": -1},
        "spec.maxJobs",
        "should be greater than or equal to 0",
    ),
    Wrong(
        "namespaces without any job",
        placement_policy,
        {"spec.maxJobsPerNamespace": 0},
        "spec.maxJobsPerNamespace",
        "should be greater than or equal to 1",
    ),
    Wrong(
        "a second policy",
        placement_policy,
        {"metadata.name": "mine"},
        "metadata.name",
        "must be default: one policy applies to the whole cluster",
    ),
    Wrong(
        "a policy in an unknown mode",
        placement_policy,
        {"spec.mode": "DryRun"},
        "spec.mode",
        'supported values: "Enforce", "Advise"',
    ),
    Wrong(
        "an aim at nothing",
        placement_policy,
        {"spec.objective.weights": {"usefulWork": 0, "money": 0, "energy": "0"}},
        "spec.objective.weights",
        "must not all be 0: give usefulWork, money or energy a weight",
    ),
    Wrong(
        "a signal of which nothing is usual",
        placement_policy,
        {"spec.objective.energySignal": {"query": "grid", "usual": 0}},
        "spec.objective.energySignal.usual",
        "must be a number above 0",
    ),
    Wrong(
        "a plan that takes forever",
        placement_policy,
        {"spec.planning.timeLimit": "2m"},
        "spec.planning.timeLimit",
        "must be at most 60s",
    ),
    Wrong(
        "a search on no core",
        placement_policy,
        {"spec.planning.workers": 0},
        "spec.planning.workers",
        "greater than or equal to 1",
    ),
    Wrong(
        "a straggler after no time at all",
        placement_policy,
        {"spec.stragglers.after": "0s"},
        "spec.stragglers.after",
        _DURATION,
    ),
    Wrong(
        "a pause that shrinks",
        placement_policy,
        {"spec.waitForPodsReady": {"requeuingStrategy": {"backoffMax": "30s"}}},
        "spec.waitForPodsReady.requeuingStrategy.backoffMax",
        "must be at least backoffBase",
    ),
    Wrong(
        "pods that must be ready before they are made",
        placement_policy,
        {"spec.waitForPodsReady": {"timeout": "-1m"}},
        "spec.waitForPodsReady.timeout",
        "must be a duration, such as",
    ),
    Wrong(
        "a job that is tried no time",
        placement_policy,
        {"spec.waitForPodsReady": {"requeuingStrategy": {"backoffLimitCount": 0}}},
        "spec.waitForPodsReady.requeuingStrategy.backoffLimitCount",
        "greater than or equal to 1",
    ),
    Wrong(
        "force before its time",
        placement_policy,
        {"spec.unreachableNodes": {"forceDeleteAfter": "soon"}},
        "spec.unreachableNodes.forceDeleteAfter",
        "must be a duration, such as",
    ),
    Wrong(
        "a budget for a week",
        placement_policy,
        {"spec.disruptionBudgets.0.window": "168h"},
        "spec.disruptionBudgets[0].window",
        "must be at most 24h",
    ),
    Wrong(
        "a budget for more than all",
        placement_policy,
        {"spec.disruptionBudgets.0.maxJobs": "110%"},
        "spec.disruptionBudgets[0].maxJobs",
        "must be a number of jobs such as 5, or a share from '0%' to '100%'",
    ),
    Wrong(
        "a budget that limits nothing",
        placement_policy,
        {"spec.disruptionBudgets.0.maxJobs": GONE},
        "spec.disruptionBudgets[0]",
        "must have maxJobs, maxLostPercent or both: without them it limits nothing",
    ),
)

WRONG: Final = TRAINING + INFERENCE + CLUSTER

ONLY_WE_REFUSE: Final = (
    Wrong(
        "two rates for one count",
        training_job,
        {"spec.accelerators.0.throughput.1": _POINT},
        "spec.accelerators[0].throughput",
        "duplicate value {'workers': 2}: remove one of them",
    ),
)
"""What would cost the API server too much to find out, each time that such an object is written."""
