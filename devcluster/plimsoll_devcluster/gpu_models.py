"""GPU models with the names and sizes that NVIDIA's GPU Feature Discovery reports."""

from dataclasses import dataclass

H100 = "NVIDIA-H100-80GB-HBM3"
A100 = "NVIDIA-A100-SXM4-80GB"
L4 = "NVIDIA-L4"
T4 = "Tesla-T4"


@dataclass(frozen=True, slots=True)
class GpuModel:
    """A node's GPU labels; `machine` is a cloud instance type that carries them."""

    memory_mib: int
    family: str
    compute: str
    mig_capable: bool
    machine: str


MODELS = {
    H100: GpuModel(81559, "hopper", "9.0", mig_capable=True, machine="p5.48xlarge"),
    A100: GpuModel(81920, "ampere", "8.0", mig_capable=True, machine="p4de.24xlarge"),
    L4: GpuModel(23034, "ada-lovelace", "8.9", mig_capable=False, machine="g6.12xlarge"),
    T4: GpuModel(15360, "turing", "7.5", mig_capable=False, machine="g4dn.xlarge"),
}
