"""The labels and annotations by which pods are known as a job's, and the gates that hold them.

And those by which users say what else is to be planned.
"""

from plimsoll.api.definition import GROUP

JOB_NAME = f"{GROUP}/job-name"
JOB_KIND = f"{GROUP}/job-kind"
JOB_UID = f"{GROUP}/job-uid"
ROLE = f"{GROUP}/role"
REPLICA = f"{GROUP}/replica"
RANK = f"{GROUP}/rank"
REVISION = f"{GROUP}/revision"
TEMPLATE_HASH = f"{GROUP}/template-hash"
GPU_TYPE = f"{GROUP}/gpu-type"
"""The GPU type of a service's pod, for a Service of each type."""
WEIGHT = f"{GROUP}/weight"
"""What a service's replica carries, in percent of one on the best GPU type, for routers."""
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
"""The number that an indexed Job gives a pod; ours have it too, for programs that read it."""
PLACED_AT = f"{GROUP}/placed-at"
"""When a target's pod was sent to its node, in seconds since 1970."""
SERVING = f"{GROUP}/serving"
"""The readiness gate that lets a service's pods serve, or takes them out of their Services."""
GPU_MEMORY = f"{GROUP}/gpu-memory"
"""The bytes that a pod's weights take of a GPU that it shares."""
GATE = f"{GROUP}/placement"
"""The scheduling gate behind which pods of others wait for us to choose a node."""
QUEUE = f"{GROUP}/queue"
"""The label by which a workload of another kind asks to be planned, with the name of its queue."""
SETTINGS = f"{GROUP}/"
"""How the annotations begin that say more about such a workload."""
