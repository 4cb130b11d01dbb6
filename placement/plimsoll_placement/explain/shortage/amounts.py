"""Amounts as people read them: GPUs, watts, CPU, memory, and short lists."""

from plimsoll_placement.model import SINGLE, GpuType

MILLIWATTS_PER_WATT = 1000
WATTS_PER_KILOWATT = 1000
BYTES_PER_GIB = 1 << 30
_IN_BYTES = ("ephemeral-storage", "hugepages-")


def gpus(milli: int) -> str:
    """Milli-GPUs as GPUs: 4, 0.25."""
    return _short(milli / 1000)


def gpus_of(milli: int, gpu_type: GpuType) -> str:
    """This many GPUs of a type, as in "4 × NVIDIA-L4"."""
    return f"{gpus(milli)} × {gpu_type}"


def power(milliwatts: int) -> str:
    """Watts, or from 1 kW on kilowatts with one decimal; rounded up, so that it always suffices."""
    watts = -(-milliwatts // MILLIWATTS_PER_WATT)
    if watts < WATTS_PER_KILOWATT:
        return f"{watts} W"
    return f"{-(-watts // 100) / 10:.1f} kW"


def cpu(millis: int) -> str:
    """Millicores as CPUs."""
    return f"{_short(millis / 1000)} CPU"


def memory(size_bytes: int) -> str:
    """Bytes as GiB."""
    return f"{_short(size_bytes / BYTES_PER_GIB)} GiB"


def gpu_memory(size_bytes: int) -> str:
    """Bytes of a GPU's memory as GiB."""
    return f"{memory(size_bytes)} of GPU memory"


def other(resource: str, amount: int) -> str:
    """An amount of another resource: of storage, in bytes, as GiB; of devices, how many."""
    if is_single(resource):
        return f"a {resource_name(resource)}"
    is_storage = resource.startswith(_IN_BYTES)
    return f"{memory(amount)} of {resource}" if is_storage else f"{amount} × {resource}"


def is_single(resource: str) -> bool:
    """Whether every node has just one of a resource."""
    return resource.startswith(SINGLE)


def resource_name(resource: str) -> str:
    """What people call a resource."""
    return resource.removeprefix(SINGLE).partition("|")[0]


def counted(count: int, noun: str) -> str:
    """A count with its noun: 1 node, 3 nodes."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(parts: list[str]) -> str:
    """Parts as in a sentence: a; a and b; a, b and c."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _short(number: float) -> str:
    return f"{number:.3f}".rstrip("0").rstrip(".")
