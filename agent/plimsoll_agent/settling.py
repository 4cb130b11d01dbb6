"""Set the limit that an order implies on each GPU of the node, and read back the actual one.

It is idempotent: a GPU that has its limit already is not touched. A failing GPU keeps no other from
getting its limit.
"""

from collections.abc import Sequence

from plimsoll_agent import metrics
from plimsoll_agent.errors import DeviceError
from plimsoll_agent.nvml import Gpus
from plimsoll_agent.orders import MILLI, Limits, Order, target, watts_of
from plimsoll_agent.report import Reading


def settled(gpus: Gpus, order: Order) -> Sequence[Reading]:
    """One reading per GPU, by index. Raises DeviceError without a driver."""
    metrics.POWER_LIMIT.clear()
    readings = [_settled(gpus, index, order) for index in range(gpus.count())]
    for index, reading in enumerate(readings):
        if reading.enforced is not None:
            metrics.POWER_LIMIT.labels(str(index)).set(reading.enforced / MILLI)
    metrics.UNSETTLED_GPUS.set(sum(1 for reading in readings if reading.problem))
    return readings


def _settled(gpus: Gpus, index: int, order: Order) -> Reading:
    try:
        before = gpus.limits(index)
    except DeviceError as error:
        return _failure(None, f"does not report its limits: {error}")
    wanted = target(order, before)
    if wanted.milliwatts is None:
        return Reading(before.enforced, wanted.refusal)
    if wanted.milliwatts == before.current:
        return _read_back(before, wanted.milliwatts)
    return _changed(gpus, index, before, wanted.milliwatts)


def _changed(gpus: Gpus, index: int, before: Limits, milliwatts: int) -> Reading:
    try:
        gpus.set_limit(index, milliwatts)
        after = gpus.limits(index)
    except DeviceError as error:
        return _failure(before.enforced, f"cannot be set to {watts_of(milliwatts)} W: {error}")
    return _read_back(after, milliwatts)


def _read_back(limits: Limits, milliwatts: int) -> Reading:
    """The GPU's actual limit after one was set; its board may enforce a lower one."""
    if limits.current == milliwatts >= limits.enforced:
        return Reading(limits.enforced)
    said = f"was set to {watts_of(milliwatts)} W, says {watts_of(limits.current)} W"
    return _failure(limits.enforced, f"{said} and keeps to {watts_of(limits.enforced)} W")


def _failure(enforced: int | None, problem: str) -> Reading:
    metrics.ERRORS.labels("nvml").inc()
    return Reading(enforced, problem, is_failure=True)
