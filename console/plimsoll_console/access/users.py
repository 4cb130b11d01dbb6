"""Whom a bearer token belongs to.

Any token that the API server accepts is accepted, so what it may look like is not known: of one
that is a JWT the expiry is read, unverified, so that a result is not remembered for longer.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.objects.objects import Wire
from plimsoll.kube.tokens.reviews import Reading, ReviewTerms, TokenReviews, TokenReviewStatus

MOST_CHARACTERS: Final = 16_384
"""Tokens that name all of a user's groups may be long."""


@dataclass(frozen=True, slots=True)
class User:
    """A user as the API server knows it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = field(default=(), repr=False)

    @property
    def extra_by_key(self) -> Mapping[str, tuple[str, ...]]:
        """What else the API server says of the user, by its key."""
        return dict(self.extra)


class _Payload(Wire, frozen=True):
    exp: float


_payload = msgspec.json.Decoder(_Payload)


def user_reviews(
    client: KubeClient, audiences: Sequence[str], *, seconds: float
) -> TokenReviews[User]:
    """The reviews of users' tokens; a result is remembered for at most so many seconds."""
    wanted = tuple(audiences)

    def bearer(status: TokenReviewStatus) -> User | None:
        # An API server that does not know audiences names none; then the token's are unknown.
        is_for_us = not wanted or not set(wanted).isdisjoint(status.audiences)
        return _user(status) if is_for_us else None

    terms = ReviewTerms(accepted_seconds=seconds, refused_seconds=seconds, most_accepted=8_192)
    return TokenReviews(client, Reading(bearer, wanted, seconds_left), terms=terms)


def _user(status: TokenReviewStatus) -> User | None:
    said = status.user
    if not status.authenticated or not said.username:
        return None
    extra = tuple(sorted((key, tuple(values)) for key, values in said.extra.items()))
    return User(said.username, said.uid, tuple(said.groups), extra)


def seconds_left(token: str, now: float) -> float:
    """How long a token claims to be valid for; infinity if it does not say."""
    parts = token.split(".")
    if len(parts) != 3:  # noqa: PLR2004 - header, payload and signature
        return float("inf")
    try:
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        return _payload.decode(base64.urlsafe_b64decode(padded)).exp - now
    except (ValueError, msgspec.DecodeError, RecursionError):
        return float("inf")
