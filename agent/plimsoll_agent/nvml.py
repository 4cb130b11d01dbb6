"""The only module that talks to the driver: a node's GPUs and their power limits, by NVML.

The library stays open once opened. Without persistence mode the driver forgets a limit as soon as
no process has the GPU open, and then this is what keeps it.
"""

# ruff: noqa: N802 - these names are NVML's

from collections.abc import Callable
from typing import Protocol, TypeVar, cast

import pynvml  # pyright: ignore[reportMissingTypeStubs] - _Nvml below has what is used

from plimsoll_agent.errors import DeviceError
from plimsoll_agent.orders import Limits

T = TypeVar("T")


class _Nvml(Protocol):
    """The part of NVIDIA's bindings in use, which are untyped; all amounts are milliwatts."""

    NVMLError: type[Exception]

    def nvmlInit(self) -> None: ...
    def nvmlShutdown(self) -> None: ...
    def nvmlDeviceGetCount(self) -> int: ...
    def nvmlDeviceGetHandleByIndex(self, index: int) -> object: ...
    def nvmlDeviceGetEnforcedPowerLimit(self, device: object) -> int: ...
    def nvmlDeviceGetPowerManagementLimit(self, device: object) -> int: ...
    def nvmlDeviceGetPowerManagementDefaultLimit(self, device: object) -> int: ...
    def nvmlDeviceGetPowerManagementLimitConstraints(self, device: object) -> list[int]: ...
    def nvmlDeviceSetPowerManagementLimit(self, device: object, limit: int) -> None: ...


_NVML = cast("_Nvml", pynvml)


class Gpus:
    """The GPUs of this machine, by NVML's index; each method raises DeviceError."""

    def __init__(self) -> None:
        self._is_open = False

    def count(self) -> int:
        """The number of GPUs, lost ones included; opens the library if necessary."""
        if not self._is_open:
            _asked(_NVML.nvmlInit)
            self._is_open = True
        return _asked(_NVML.nvmlDeviceGetCount)

    def limits(self, index: int) -> Limits:
        """The limits of one GPU."""
        return _asked(lambda: _limits(_NVML.nvmlDeviceGetHandleByIndex(index)))

    def set_limit(self, index: int, milliwatts: int) -> None:
        """Set the limit of one GPU; requires CAP_SYS_ADMIN."""
        _asked(
            lambda: _NVML.nvmlDeviceSetPowerManagementLimit(
                _NVML.nvmlDeviceGetHandleByIndex(index), milliwatts
            )
        )

    def close(self) -> None:
        """Drop the library's state, such as that of a driver that has been reloaded meanwhile."""
        if self._is_open:
            self._is_open = False
            _asked(_NVML.nvmlShutdown)


def _limits(device: object) -> Limits:
    lowest, highest = _NVML.nvmlDeviceGetPowerManagementLimitConstraints(device)
    return Limits(
        current=_NVML.nvmlDeviceGetPowerManagementLimit(device),
        enforced=_NVML.nvmlDeviceGetEnforcedPowerLimit(device),
        lowest=lowest,
        highest=highest,
        default=_NVML.nvmlDeviceGetPowerManagementDefaultLimit(device),
    )


def _asked(ask: Callable[[], T]) -> T:
    try:
        return ask()
    except _NVML.NVMLError as error:
        raise DeviceError(str(error).rstrip(".")) from error
