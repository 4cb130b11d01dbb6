"""GPUs with power limits for the agent: those of a library of ours, or of this machine.

The library takes the place of NVIDIA's where the agent loads it, so all of the agent is as it is
with real GPUs. PLIMSOLL_REAL_GPUS=true has the tests that can do with any GPU use this machine's,
whose limits they change and put back; that takes root.
"""

import subprocess
import sys
import time
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Protocol

SOURCE = Path(__file__).with_name("fake_nvml.c")
LIBRARY = "libnvidia-ml.so.1"


class NvmlError(IntEnum):
    """Some of what NVML answers."""

    NOT_SUPPORTED = 3
    NO_PERMISSION = 4
    DRIVER_NOT_LOADED = 9
    GPU_IS_LOST = 15


class PowerGpus(Protocol):
    """What a test can ask of both; all amounts are watts."""

    @property
    def environment(self) -> Mapping[str, str]:
        """What makes a process find these GPUs."""
        ...

    def limits(self) -> list[int]:
        """The limit that is set of each GPU, by index."""
        ...

    def defaults(self) -> list[int]:
        """The default limit of each."""
        ...

    def cap(self) -> int:
        """A limit that all of them can have, and none has of itself."""
        ...


def compiled(folder: Path) -> Path:
    """Compile the library; the folder to look for it in."""
    command = ("-m", "ziglang", "cc", "-shared", "-fPIC", "-O1", "-o", str(folder / LIBRARY))
    subprocess.run([sys.executable, *command, str(SOURCE)], check=True, timeout=280)
    return folder


class FakeGpus:
    """GPUs of the library: what they report stands in a folder, and stays there."""

    def __init__(self, library: Path, folder: Path, *, count: int = 2) -> None:
        self._library = library
        self._folder = folder
        for index in range(count):
            self.set(index, lowest=200, highest=700, default=700, limit=700)
        self._write("count", count)

    @property
    def environment(self) -> Mapping[str, str]:
        return {"LD_LIBRARY_PATH": str(self._library), "FAKE_NVML_FOLDER": str(self._folder)}

    def set(self, index: int, **watts: int) -> None:
        """Let a GPU say this of itself: lowest, highest, default, limit, board or stuck."""
        for name, value in watts.items():
            self._write(f"{index}.{name}", value * 1000)

    def fail(self, what: str, error: NvmlError) -> None:
        """Let `init`, GPU `0` or the setting of it, `0.set`, answer with an error from now on."""
        self._write(f"{what}.error", error)

    def heal(self, what: str) -> None:
        """Let it answer again."""
        (self._folder / f"{what}.error").unlink()

    def obey(self, index: int) -> None:
        """Let a GPU that was stuck keep to what is set."""
        (self._folder / f"{index}.stuck").unlink()

    def load_driver_anew(self) -> None:
        """Unload and load the driver, which forgets the limits that were set."""
        self._write("driver", int(time.monotonic()))
        for index, watts in enumerate(self.defaults()):
            self.set(index, limit=watts)

    def limits(self) -> list[int]:
        return self._watts("limit")

    def defaults(self) -> list[int]:
        return self._watts("default")

    def cap(self) -> int:
        return 300

    def sets(self) -> int:
        """How often a limit was set."""
        file = self._folder / "sets"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def _watts(self, name: str) -> list[int]:
        count = int((self._folder / "count").read_text())
        files = [self._folder / f"{index}.{name}" for index in range(count)]
        return [int(file.read_text()) // 1000 for file in files]

    def _write(self, name: str, value: int) -> None:
        new = self._folder / f"{name}.new"
        new.write_text(f"{value}\n")
        new.replace(self._folder / name)


class RealGpus:
    """The GPUs of this machine, as nvidia-smi sees them."""

    environment: Mapping[str, str] = {}

    def limits(self) -> list[int]:
        return self._asked("power.limit")

    def defaults(self) -> list[int]:
        return self._asked("power.default_limit")

    def cap(self) -> int:
        lowest, default = max(self._asked("power.min_limit")), min(self.defaults())
        return (lowest + default) // 2

    def restore(self) -> None:
        """Give all of them their default limits."""
        for index, watts in enumerate(self.defaults()):
            subprocess.run(["nvidia-smi", f"--id={index}", f"--power-limit={watts}"], check=True)

    def _asked(self, what: str) -> list[int]:
        command = ["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader,nounits"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return [round(float(line)) for line in done.stdout.splitlines()]
