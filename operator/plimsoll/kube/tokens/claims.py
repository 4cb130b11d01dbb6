"""What a token says of itself, which nobody has vouched for yet.

It proves nothing: anybody can write such words. But a token that does not even say of itself that
it is made for us, bound to a pod and not over need not be shown to the API server, so that junk
costs next to nothing. Who issued it is not looked at: that is for the API server to know.
"""

import base64
from dataclasses import dataclass
from typing import Final

import msgspec

from plimsoll.kube.objects.objects import Wire

AUDIENCE: Final = "plimsoll.dev"
"""Whom the tokens of workers are made for; no other service takes them, and we take no others."""
ACCOUNT: Final = "system:serviceaccount:"
MOST_CHARACTERS: Final = 6144
"""Those of Kubernetes have about a thousand."""
CLOCKS_DIFFER_SECONDS: Final = 60.0
"""So far the API server's clock may be behind ours: for so long a token may be good there yet."""


@dataclass(frozen=True, slots=True)
class PodIdentity:
    """The pod that a token is bound to."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Claims:
    """The pod that a token says it is bound to, and when it ends, in seconds since 1970."""

    pod: PodIdentity
    expires_at: float


class _Pod(Wire, frozen=True):
    name: str
    uid: str


class _Bound(Wire, frozen=True):
    namespace: str
    pod: _Pod


class _Header(Wire, frozen=True):
    alg: str


class _Payload(Wire, frozen=True):
    aud: str | tuple[str, ...]
    exp: float
    sub: str
    bound: _Bound = msgspec.field(name="kubernetes.io")


_header = msgspec.json.Decoder(_Header)
_payload = msgspec.json.Decoder(_Payload)


def claims_of(token: str, now: float) -> Claims | None:
    """What a token claims; None where it does not even claim to be good here at that time."""
    if len(token) > MOST_CHARACTERS or not token.isascii():
        return None
    parts = token.split(".")
    if len(parts) != 3 or not all(parts):  # noqa: PLR2004 - header, payload and signature
        return None
    try:
        _header.decode(_unpacked(parts[0]))
        said = _payload.decode(_unpacked(parts[1]))
    except (ValueError, msgspec.DecodeError, RecursionError):
        return None
    audiences = (said.aud,) if isinstance(said.aud, str) else said.aud
    bound = said.bound
    if AUDIENCE not in audiences or said.exp + CLOCKS_DIFFER_SECONDS < now:
        return None
    if not said.sub.startswith(f"{ACCOUNT}{bound.namespace}:"):
        return None
    return Claims(PodIdentity(bound.namespace, bound.pod.name, bound.pod.uid), said.exp)


def _unpacked(part: str) -> bytes:
    padded = part + "=" * (-len(part) % 4)
    return base64.b64decode(padded, altchars=b"-_", validate=True)
