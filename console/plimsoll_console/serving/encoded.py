"""A message as it is sent: encoded and compressed once for all who may see the same."""

import gzip
import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec

from plimsoll_console.messages.base import Stamped
from plimsoll_console.views.stamps import Stamp

_WORTH_BYTES: Final = 1024
_LEVEL: Final = 1
"""Messages live for a second or two: fast compression is worth more than a small rest."""
UNSTAMPED: Final = Stamp(datetime(1970, 1, 1, tzinfo=UTC), "", None)
encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Encoded:
    """A body, the same compressed if that is worth it, and its version."""

    version: str
    body: bytes
    compressed: bytes | None = None


def encoded(message: Stamped, *, time: datetime, stale_since: datetime | None) -> Encoded:
    """A message with its stamp; the version depends on everything else."""
    version = hashlib.blake2b(encode(message), digest_size=12).hexdigest()
    stamped = msgspec.structs.replace(message, time=time, version=version, stale_since=stale_since)
    body = encode(stamped)
    return Encoded(f"{version}{'-stale' * (stale_since is not None)}", body, smaller(body))


def smaller(body: bytes) -> bytes | None:
    """A body compressed; None if that is not worth it."""
    return gzip.compress(body, _LEVEL, mtime=0) if len(body) >= _WORTH_BYTES else None
