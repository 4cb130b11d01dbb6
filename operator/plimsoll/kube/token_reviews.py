"""Which pod a token belongs to, as the API server says.

Only tokens that are made for us (by their audience) and bound to a pod are good. Answers are
remembered for a while by the token's hash, so that workers that ask often cost little, but no
longer than the token is good; whether the pod is still there is for the caller to look up, for an
answer may be as old as that. Tokens are neither kept nor logged.
"""

import asyncio
import base64
import binascii
import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from plimsoll.kube.client import KubeClient
from plimsoll.kube.objects import Wire
from plimsoll.kube.resources import Resource

AUDIENCE: Final = "plimsoll.dev"
"""Whom the tokens of workers are made for; no other service takes them, and we take no others."""
TOKEN_REVIEWS: Final = Resource("authentication.k8s.io", "v1", "tokenreviews", namespaced=False)
_ACCOUNT: Final = "system:serviceaccount:"
_POD_NAME: Final = "authentication.kubernetes.io/pod-name"
_POD_UID: Final = "authentication.kubernetes.io/pod-uid"


@dataclass(frozen=True, slots=True)
class PodIdentity:
    """The pod that a token is bound to."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class ReviewTerms:
    """For how long answers are remembered, and how many of them."""

    accepted_seconds: float = 120.0
    refused_seconds: float = 10.0
    most: int = 32_768


class UserInfo(Wire, frozen=True):
    """Whom the API server takes the bearer of a token for."""

    username: str = ""
    extra: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict[str, tuple[str, ...]])


class TokenReviewStatus(Wire, frozen=True):
    """What the API server says of a token."""

    authenticated: bool = False
    audiences: tuple[str, ...] = ()
    user: UserInfo = UserInfo()


class TokenReview(Wire, frozen=True):
    """The answer to the question whose a token is."""

    status: TokenReviewStatus = TokenReviewStatus()


def bound_pod(status: TokenReviewStatus) -> PodIdentity | None:
    """The pod that a token is bound to; None for every token that is not good here.

    An API server that knows no audiences names none; then nobody knows whom the token is made for.
    """
    if not status.authenticated or AUDIENCE not in status.audiences:
        return None
    names, uids = (status.user.extra.get(key, ()) for key in (_POD_NAME, _POD_UID))
    if len(names) != 1 or len(uids) != 1 or not status.user.username.startswith(_ACCOUNT):
        return None
    namespace = status.user.username.removeprefix(_ACCOUNT).partition(":")[0]
    return PodIdentity(namespace, names[0], uids[0])


class _Claims(Wire, frozen=True):
    """What a token says of itself."""

    exp: float = math.inf


def expiry(token: str) -> float:
    """When a token ends by its own word, in seconds since 1970; never, where it does not say.

    Only to be asked of a token that the API server has found good: nothing is checked here.
    """
    _, _, rest = token.partition(".")
    claims, _, _ = rest.partition(".")
    try:
        padded = claims + "=" * (-len(claims) % 4)
        return msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Claims).exp
    except (binascii.Error, ValueError, msgspec.DecodeError):
        return math.inf


class TokenReviews:
    """Asks the API server about tokens, and remembers what it said."""

    def __init__(
        self,
        client: KubeClient,
        *,
        terms: ReviewTerms | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._client, self._clock, self._now = client, clock, now
        self._terms = terms or ReviewTerms()
        self._known: OrderedDict[bytes, tuple[float, PodIdentity | None]] = OrderedDict()
        self._asked: dict[bytes, asyncio.Task[PodIdentity | None]] = {}

    async def pod_of(self, token: str) -> PodIdentity | None:
        """The pod that the token is bound to, None if it is not good. Raises ApiError."""
        key = hashlib.sha256(token.encode()).digest()
        known = self._known.get(key)
        if known is not None and self._clock() < known[0]:
            return known[1]
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.create_task(self._ask(key, token))
            task.add_done_callback(lambda _: self._asked.pop(key, None))
        # One who goes away must not take the answer from those who ask the same.
        return await asyncio.shield(task)

    async def _ask(self, key: bytes, token: str) -> PodIdentity | None:
        body = {
            "apiVersion": TOKEN_REVIEWS.api_version,
            "kind": "TokenReview",
            "spec": {"token": token, "audiences": [AUDIENCE]},
        }
        review = await self._client.create(TOKEN_REVIEWS.everywhere(), body, TokenReview)
        pod = bound_pod(review.status)
        terms = self._terms
        good = min(terms.accepted_seconds, expiry(token) - self._now())
        self._remember(key, pod, terms.refused_seconds if pod is None else good)
        return pod

    def _remember(self, key: bytes, pod: PodIdentity | None, seconds: float) -> None:
        terms = self._terms
        self._known[key] = (self._clock() + seconds, pod)
        self._known.move_to_end(key)
        while len(self._known) > terms.most:
            self._known.popitem(last=False)
