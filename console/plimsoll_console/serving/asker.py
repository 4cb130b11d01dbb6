"""Who asks, what they may see, and what is there: the beginning of each request."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from aiohttp import hdrs, web

from plimsoll.errors import ApiError, TooManyRequests
from plimsoll.kube.tokens.reviews import TokenReviews
from plimsoll_console.access.authorizer import Authorizer
from plimsoll_console.access.rights import JOB_KINDS, Place, Rights
from plimsoll_console.access.users import MOST_CHARACTERS, User
from plimsoll_console.cluster.feed import Feed, Seen
from plimsoll_console.errors import AskedTooOften, NothingThere, NotReady, NotSignedIn
from plimsoll_console.serving.shown import job_named

_SCHEME: Final = "Bearer "
_KINDS: Final = frozenset(each.kind for each in JOB_KINDS)
_SIGN_IN: Final = (
    "no token: send a Kubernetes token as `Authorization: Bearer …`;"
    " `kubectl plimsoll ui` and `kubectl create token` show how to get one"
)
_EXPIRED: Final = "the token is expired, or not valid for this cluster: get a new one"


@dataclass(frozen=True, slots=True)
class Asker:
    """A user, what the user may see, and the cluster as it is."""

    user: User
    rights: Rights
    seen: Seen


class Askers:
    """Finds out who asks. All methods raise AskRefused."""

    def __init__(self, feed: Feed, users: TokenReviews[User], authorizer: Authorizer) -> None:
        self._feed, self._users, self._authorizer = feed, users, authorizer

    async def asker(self, token: str, address: Hashable) -> Asker:
        """Who sends this token from there, and what that user may see now."""
        try:
            user = await self._users.bearer_of(token, address)
            if user is None:
                raise NotSignedIn(_EXPIRED)
            seen = self._feed.latest
            if seen is None:
                raise NotReady("the cluster is not known yet: try again in a few seconds")
            rights = await self._authorizer.rights(user, seen.places)
        except TooManyRequests as error:
            raise AskedTooOften(str(error)) from error
        except ApiError as error:
            raise _unreviewed() from error
        return Asker(user, rights, seen)

    async def rights_in(self, asker: Asker, places: frozenset[Place]) -> Rights:
        """What a user may see if there are jobs in these places too."""
        try:
            known = places | asker.seen.places
            return await self._authorizer.rights(asker.user, known)
        except ApiError as error:
            raise _unreviewed() from error

    async def require(self, asker: Asker, path: str) -> None:
        """Raise NothingThere if a path is about a job that the user may not see."""
        named = job_named(path)
        if named is None:
            return
        kind, namespace, name = named
        if kind in _KINDS and (
            asker.rights.job(kind, namespace) or await self._may_get(asker, named)
        ):
            return
        raise NothingThere(f"there is no {kind} {namespace}/{name}, or you may not see it")

    async def _may_get(self, asker: Asker, named: tuple[str, str, str]) -> bool:
        try:
            return await self._authorizer.may_get(asker.user, *named)
        except ApiError as error:
            raise _unreviewed() from error


def token_of(request: web.Request) -> str:
    """The token of a request. Raises NotSignedIn."""
    given = request.headers.get(hdrs.AUTHORIZATION, "")
    if not given.startswith(_SCHEME):
        raise NotSignedIn(_SIGN_IN)
    token = given.removeprefix(_SCHEME).strip()
    if not token or len(token) > MOST_CHARACTERS or not token.isascii():
        raise NotSignedIn(_EXPIRED)
    return token


def _unreviewed() -> NotReady:
    return NotReady("the API server cannot be asked about your rights now: try again")
