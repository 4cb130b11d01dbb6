"""Read a token's unverified claims.

They prove nothing: anyone can write them. But a token that does not even claim to be made for us,
bound to a pod and unexpired need not be sent to the API server, so that junk costs next to nothing.
The issuer is not checked: the API server knows it.
"""

import base64
from dataclasses import dataclass
from typing import Final

import msgspec

from plimsoll.kube.objects.objects import Wire

AUDIENCE: Final = "plimsoll.dev"
"""The audience of workers' tokens; no other service accepts them, and we accept no others."""
ACCOUNT: Final = "system:serviceaccount:"
MOST_CHARACTERS: Final = 6144
"""Kubernetes' tokens have about a thousand."""
CLOCKS_DIFFER_SECONDS: Final = 60.0
"""How far the API server's clock may be behind ours: it may accept a token for that much longer."""


@dataclass(frozen=True, slots=True)
class PodIdentity:
    """The pod that a token is bound to."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Claims:
    """The pod that a token claims to be bound to, and its expiry, in seconds since 1970."""

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
    """A token's claims; None if it does not even claim to be valid here at that time."""
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
