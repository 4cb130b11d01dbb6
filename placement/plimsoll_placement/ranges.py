"""The most that a job may ask for so that the solver can compute with it; no cluster has more.

Sums over whole clusters must fit into 64 bits, both in the ledger's arrays and in CP-SAT's model.
Within these bounds they do for tens of thousands of jobs at the very limit. The yields of sizes and
what is wanted of a service follow from what is requested, and so are bounded with it.
"""

from collections.abc import Iterator
from typing import Final

from plimsoll_placement.model import WHOLE_GPU_MILLI, Job, Role

MOST_GPU_MILLI: Final = 2**20 * WHOLE_GPU_MILLI
"""What a role may ask for in total at its largest: a million GPUs."""
MOST_REQUESTED: Final = 2**60
"""What a pod may ask for, in millicores or bytes. The status of a larger job says so."""
MOST_HELD: Final = 2**50
"""What a placed pod may ask for: a pebibyte."""


def out_of_range(job: Job) -> str:
    """What a job asks for that is too large to compute with; "" if nothing is."""
    most = MOST_HELD if job.running else MOST_REQUESTED
    return next((fault for role in job.roles for fault in _faults(role, most)), "")


def _faults(role: Role, most_of_a_pod: int) -> Iterator[str]:
    shape = role.shape
    milli = role.counts[-1] * role.pods_per_replica * shape.gpu_milli
    if milli > MOST_GPU_MILLI:
        requested, most = milli // WHOLE_GPU_MILLI, MOST_GPU_MILLI // WHOLE_GPU_MILLI
        yield f"role {role.name} asks for {requested} GPUs at its largest; {most} are the most"
    sizes = (
        (shape.cpu_millis, "millicores"),
        (shape.memory_bytes, "bytes"),
        (shape.gpu_memory_bytes, "bytes of GPU memory"),
        *((amount, f"of {name}") for name, amount in shape.others),
    )
    for size, unit in sizes:
        if size > most_of_a_pod:
            yield f"a pod of role {role.name} asks for {size} {unit}; {most_of_a_pod} are the most"
