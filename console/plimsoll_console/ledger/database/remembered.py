"""An observation as bytes, to be kept beside the rows."""

import zlib
from dataclasses import replace

import msgspec

from plimsoll_console.ledger.accounting.observation import Observation

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Observation).decode


def as_bytes(seen: Observation) -> bytes:
    """What the next console needs of an observation: not losses, nor what is over."""
    going_on = tuple(each for each in seen.holdings if each.ends_ms is None)
    return zlib.compress(_encode(replace(seen, holdings=going_on, losses=())), level=1)


def from_bytes(data: bytes, at_ms: int) -> Observation:
    """The observation; one that shows nothing if another version of the console wrote it."""
    try:
        return _decode(zlib.decompress(data))
    except (zlib.error, msgspec.MsgspecError):
        return Observation(at_ms)
