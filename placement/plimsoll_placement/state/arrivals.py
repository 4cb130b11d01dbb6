"""What a pod asks for, as far as packing one pod after another is concerned."""

from dataclasses import dataclass

from plimsoll_placement.model import WHOLE_GPU_MILLI, GpuType


@dataclass(frozen=True, slots=True)
class PodKind:
    """Pods that are alike in everything that decides where they fit.

    A pod with `gpus` = 1 and `gpu_milli` < 1000 shares one device; any other takes `gpus` whole
    devices. Without GPUs both are 0. `models` names the GPU types it accepts; empty: any.
    """

    cpu_millis: int
    memory_mib: int
    gpus: int = 0
    gpu_milli: int = 0
    models: frozenset[GpuType] = frozenset()

    @property
    def shared(self) -> bool:
        """Whether it takes part of one device."""
        return self.gpus == 1 and self.gpu_milli < WHOLE_GPU_MILLI

    @property
    def total_gpu_milli(self) -> int:
        """What it takes over all its devices."""
        return self.gpus * self.gpu_milli

    def accepts(self, model: GpuType) -> bool:
        """Whether it may run on nodes with this GPU type; without GPUs it may run anywhere."""
        return not self.gpus or not self.models or model in self.models
