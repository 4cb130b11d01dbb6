"""Find whom a token belongs to, by the API server's TokenReview.

Which tokens are valid, and what is made of the answer, a `Reading` says: workers' tokens are made
for us (by their audience) and bound to a pod. Results are cached for a while by the token's hash,
so that frequent requests cost little, but no longer than the token is valid; the caller must check
that the pod still exists, since a result may be that old. Refused tokens are cached separately, so
that junk does not evict valid ones. Tokens are neither stored nor logged. Failed reviews are
limited per asker, and for a token that was valid before they do not count.
"""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import msgspec

from plimsoll.errors import ApiError, TooManyRequests
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.objects import Wire
from plimsoll.kube.queues.budgets import Budgets
from plimsoll.kube.tokens.claims import ACCOUNT, AUDIENCE, PodIdentity, claims_of
from plimsoll.vocabulary import metrics

TOKEN_REVIEWS: Final = Resource("authentication.k8s.io", "v1", "tokenreviews", namespaced=False)
_POD_NAME: Final = "authentication.kubernetes.io/pod-name"
_POD_UID: Final = "authentication.kubernetes.io/pod-uid"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReviewTerms:
    """How long and how many results are cached, and how many reviews may be pending.

    Each asker may fail `in_vain_at_once` times at once, and then once per `in_vain_seconds`.
    """

    accepted_seconds: float = 120.0
    refused_seconds: float = 30.0
    most_accepted: int = 32_768
    most_refused: int = 4_096
    most_waiting: int = 1_024
    in_vain_at_once: int = 10
    in_vain_seconds: float = 5.0


class UserInfo(Wire, frozen=True):
    """Whom the API server takes the bearer of a token for."""

    username: str = ""
    extra: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict[str, tuple[str, ...]])
    uid: str = ""
    groups: tuple[str, ...] = ()


class TokenReviewStatus(Wire, frozen=True):
    """The API server's result for a token."""

    authenticated: bool = False
    audiences: tuple[str, ...] = ()
    user: UserInfo = UserInfo()


class TokenReview(Wire, frozen=True):
    """A TokenReview as the API server returns it."""

    status: TokenReviewStatus = TokenReviewStatus()


def bound_pod(status: TokenReviewStatus) -> PodIdentity | None:
    """The pod that a token is bound to; None for every token that is not valid here.

    An API server that does not support audiences returns none; then the token's audience is
    unknown.
    """
    if not status.authenticated or AUDIENCE not in status.audiences:
        return None
    names, uids = (status.user.extra.get(key, ()) for key in (_POD_NAME, _POD_UID))
    if len(names) != 1 or len(uids) != 1 or not status.user.username.startswith(ACCOUNT):
        return None
    namespace = status.user.username.removeprefix(ACCOUNT).partition(":")[0]
    return PodIdentity(namespace, names[0], uids[0])


def _seconds_bound(token: str, now: float) -> float:
    """How long a worker's token claims to be valid for; 0 if it does not say."""
    claims = claims_of(token, now)
    return claims.expires_at - now if claims is not None else 0.0


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """What is made of an answer: `bearer` is None for a token that is not valid here.

    `audiences` are those that the token must be made for one of; none: the API server's own.
    `seconds_left` is how long a token claims to be valid for, by the token and the time.
    """

    bearer: Callable[[TokenReviewStatus], T | None]
    audiences: tuple[str, ...]
    seconds_left: Callable[[str, float], float]


PODS: Final[Reading[PodIdentity]] = Reading(bound_pod, (AUDIENCE,), _seconds_bound)
"""The pods of workers' tokens."""


class _Results(Generic[T]):
    """Review results by token hash, each until its expiry; the latest so many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[bytes, tuple[float, T | None]] = OrderedDict()

    def __contains__(self, key: bytes) -> bool:
        """Whether there was a result, even if it has expired."""
        return key in self._known

    def get(self, key: bytes, now: float) -> tuple[float, T | None] | None:
        known = self._known.get(key)
        return known if known is not None and now < known[0] else None

    def remember(self, key: bytes, bearer: T | None, until: float) -> None:
        self._known[key] = (until, bearer)
        self._known.move_to_end(key)
        while len(self._known) > self._most:
            self._known.popitem(last=False)

    def forget(self, key: bytes) -> None:
        self._known.pop(key, None)


class TokenReviews(Generic[T]):
    """Reviews tokens with the API server, and caches the results."""

    def __init__(
        self,
        client: KubeClient,
        reading: Reading[T],
        *,
        terms: ReviewTerms | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._client, self._reading, self._clock, self._now = client, reading, clock, now
        self._terms = terms or ReviewTerms()
        self._accepted = _Results[T](self._terms.most_accepted)
        self._refused = _Results[T](self._terms.most_refused)
        self._pending: dict[bytes, asyncio.Task[T | None]] = {}
        self._in_vain = Budgets[Hashable](
            self._terms.in_vain_at_once, 1 / self._terms.in_vain_seconds, clock=clock
        )

    async def bearer_of(self, token: str, asker: Hashable = None) -> T | None:
        """Whom the token belongs to, None if it is not valid. Raises ApiError.

        This is TooManyRequests if `asker` has caused too many failed reviews.
        """
        key = hashlib.sha256(token.encode()).digest()
        now = self._clock()
        known = self._accepted.get(key, now) or self._refused.get(key, now)
        if known is not None:
            return known[1]
        if key not in self._accepted and not self._in_vain.has_left(asker):
            raise TooManyRequests("tokens were refused too often", retry_after_seconds=5)
        bearer = await self._result(key, token)
        if bearer is None:
            self._in_vain.spend(asker)
        return bearer

    async def _result(self, key: bytes, token: str) -> T | None:
        """The API server's result, requested once for all who ask the same at a time."""
        task = self._pending.get(key)
        if task is None:
            if len(self._pending) >= self._terms.most_waiting:
                raise TooManyRequests("too many tokens wait for a review", retry_after_seconds=1)
            task = self._pending[key] = asyncio.create_task(self._reviewed(key, token))
            task.add_done_callback(lambda _: self._pending.pop(key, None))
        # A caller that goes away must not cancel the result for others who wait for it.
        return await asyncio.shield(task)

    async def _reviewed(self, key: bytes, token: str) -> T | None:
        body = {
            "apiVersion": TOKEN_REVIEWS.api_version,
            "kind": "TokenReview",
            "spec": {"token": token, "audiences": [*self._reading.audiences]},
        }
        try:
            review = await self._client.create(TOKEN_REVIEWS.everywhere(), body, TokenReview)
        except ApiError:
            metrics.TOKEN_REVIEWS.labels("Failed").inc()
            raise
        bearer, terms = self._reading.bearer(review.status), self._terms
        metrics.TOKEN_REVIEWS.labels("Refused" if bearer is None else "Accepted").inc()
        if bearer is None:
            self._accepted.forget(key)
            self._refused.remember(key, None, self._clock() + terms.refused_seconds)
        else:
            left = self._reading.seconds_left(token, self._now())
            seconds = min(terms.accepted_seconds, left)
            self._accepted.remember(key, bearer, self._clock() + seconds)
        return bearer
