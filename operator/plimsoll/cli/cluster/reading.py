"""List kinds of objects once, as far as the user may.

A user with rights to one namespace sees that one; a kind that may not be listed at all is missing,
and what depends on it is left out of the answer.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar, cast

from plimsoll.api.definition import GROUP
from plimsoll.cli.cluster.connection import Cluster
from plimsoll.errors import Forbidden, NotFound, UnusableCluster
from plimsoll.kube.http.client import KubeClient, Selection
from plimsoll.kube.http.resources import ApiPath, Resource
from plimsoll.kube.objects.objects import KubeObject

T = TypeVar("T", bound=KubeObject)
PAGE_SIZE = 1000


class Scope(Enum):
    """In which namespaces a command looks for objects.

    OWN: the user's, or what -n or -A say. AS_ASKED: all that the user may list, unless -n is given.
    ALL: all that the user may list.
    """

    OWN = 1
    AS_ASKED = 2
    ALL = 3


@dataclass(frozen=True, slots=True)
class Wanted(Generic[T]):
    """Objects of one kind that a command shows."""

    resource: Resource
    type: type[T]
    scope: Scope = Scope.AS_ASKED
    selection: Selection | None = None


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """What the user may see of one kind: in `namespace`, None for everywhere.

    `missing` says what is not known, and why; unless `readable`, nothing is.
    """

    items: tuple[T, ...] = ()
    namespace: str | None = None
    missing: str = ""
    readable: bool = True


class Known:
    """All that was found, by type; `silent` says if it may be outdated."""

    def __init__(self, found: Mapping[type[KubeObject], Found[Any]], *, silent: str = "") -> None:
        self._found, self._silent = found, silent

    def of(self, type_: type[T]) -> Found[T]:
        """What was found of a type; nothing of one that was not asked for."""
        return cast("Found[T]", self._found.get(type_, Found()))

    def require_something(self) -> None:
        """Raise UnusableCluster if nothing at all may be read."""
        if self._found and all(each.missing and not each.readable for each in self._found.values()):
            raise UnusableCluster(self.missing)

    @property
    def missing(self) -> tuple[str, ...]:
        """What is not known, and why: a sentence for each kind."""
        said = (self._silent, *(each.missing for each in self._found.values()))
        return tuple(dict.fromkeys(each for each in said if each))


async def read(cluster: Cluster, wanted: Sequence[Wanted[Any]]) -> Known:
    """List everything that is wanted. Raises UnusableCluster."""
    async with cluster.client() as client:
        found = await asyncio.gather(*(_found(client, cluster, each) for each in wanted))
    known = Known({each.type: one for each, one in zip(wanted, found, strict=True)})
    known.require_something()
    return known


async def _found(client: KubeClient, cluster: Cluster, wanted: Wanted[T]) -> Found[T]:
    refused: Forbidden | None = None
    for namespace in namespaces(cluster, wanted):
        try:
            items, unread = await _all(client, wanted, namespace)
        except Forbidden as error:
            refused = refused or error
        except NotFound:
            return absent(wanted)
        else:
            missing = restricted(refused, namespace) or _unreadable(wanted, unread)
            return Found(items, namespace, missing)
    return Found(missing=restricted(refused, None), readable=False)


async def _all(
    client: KubeClient, wanted: Wanted[T], namespace: str | None
) -> tuple[tuple[T, ...], int]:
    """All objects of a kind, and how many others cannot be read."""
    items: list[T] = []
    unread = 0
    async for page in client.pages(
        path(wanted, namespace), wanted.type, selection=wanted.selection, page_size=PAGE_SIZE
    ):
        items += page.items
        unread += len(page.unread)
    return tuple(items), unread


def absent(wanted: Wanted[T]) -> Found[T]:
    """Nothing, of a kind that the cluster does not serve; only one of ours is missed."""
    resource = wanted.resource
    if resource.group != GROUP:
        return Found()
    text = f"{resource.plural}.{GROUP} are unknown here: is Plimsoll installed?"
    return Found(missing=text, readable=False)


def _unreadable(wanted: Wanted[Any], count: int) -> str:
    return f"{wanted.resource.plural}: {count} cannot be read and are left out" if count else ""


def namespaces(cluster: Cluster, wanted: Wanted[Any]) -> Iterable[str | None]:
    """Where to look for a kind, until the user may list it there; None is everywhere."""
    if not wanted.resource.namespaced or cluster.namespace is None:
        return (None,)
    is_own = wanted.scope is Scope.OWN or (wanted.scope is Scope.AS_ASKED and cluster.is_named)
    return (cluster.namespace,) if is_own else (None, cluster.namespace)


def path(wanted: Wanted[Any], namespace: str | None) -> ApiPath:
    """Where objects of a kind are listed."""
    return wanted.resource.within(namespace) if namespace else wanted.resource.everywhere()


def restricted(refused: Forbidden | None, namespace: str | None) -> str:
    """What is missing because of a refusal, if only objects in `namespace` are shown instead."""
    if refused is None:
        return ""
    instead = f"only those in namespace {namespace} are shown" if namespace else "none are shown"
    return f"{refused}: {instead}"
