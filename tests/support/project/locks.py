"""Locks: files of requirements that pin versions with the hashes of what may be installed."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.utils import NormalizedName, canonicalize_name

_HASH: Final = re.compile(r"^    --hash=sha256:([0-9a-f]{64})(?: \\)?$")
_PIN: Final = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[\w.!+-]+)(?: ;.*)?(?: \\)?$")


@dataclass(frozen=True, slots=True)
class Pin:
    """One version of a package, and the hashes of its files."""

    version: str
    hashes: frozenset[str] = frozenset()


def pins(path: Path) -> dict[NormalizedName, Pin]:
    """What a lock, or a file of constraints, pins; a line of another kind is an error."""
    found: dict[NormalizedName, Pin] = {}
    name = NormalizedName("")
    for line in path.read_text().splitlines():
        if hashed := _HASH.match(line):
            pin = found[name]
            found[name] = Pin(pin.version, pin.hashes | {hashed[1]})
        elif not line.lstrip().startswith("#"):
            pinned = _PIN.match(line)
            assert pinned, f"{path.name}: neither a pin nor a hash: {line}"
            name = canonicalize_name(pinned["name"])
            found[name] = Pin(pinned["version"])
    return found
