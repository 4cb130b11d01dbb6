"""Names from the cluster that may complete an argument; none if it does not answer at once."""

import argparse
import asyncio
from collections.abc import Sequence
from typing import Final

from plimsoll.api.definition import GROUP, VERSION
from plimsoll.cli.completion.words import Candidate
from plimsoll.errors import ApiError, NoCluster, UnsafePath
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.configured import configured, configured_contexts, configured_namespace
from plimsoll.kube.http.resources import NAMESPACES, Resource
from plimsoll.kube.objects.objects import KubeObject
from plimsoll.vocabulary.dimensions import Dimension
from plimsoll.vocabulary.logs import only_errors

PATIENCE_SECONDS: Final = 2.0
MOST: Final = 500
"""Names of a kind: nobody picks from more."""
_QUEUES: Final = Resource(GROUP, VERSION, "jobqueues", namespaced=False)
_JOBS: Final = {
    "TrainingJob": Resource(GROUP, VERSION, "trainingjobs"),
    "InferenceJob": Resource(GROUP, VERSION, "inferencejobs"),
}


def named(argument: str, typed: argparse.Namespace) -> Sequence[Candidate]:
    """The names for an argument, by what was typed before it."""
    kubeconfig: str | None = getattr(typed, "kubeconfig", None)
    context: str | None = getattr(typed, "context", None)
    try:
        if argument == "by":
            return [Candidate(each.value) for each in Dimension]
        if argument == "context":
            return [Candidate(each) for each in configured_contexts(kubeconfig)]
        with only_errors():
            return asyncio.run(_within_time(argument, typed, kubeconfig, context))
    except (ApiError, NoCluster, UnsafePath, TimeoutError):
        return []


async def _within_time(
    argument: str, typed: argparse.Namespace, kubeconfig: str | None, context: str | None
) -> Sequence[Candidate]:
    kinds = _kinds(argument)
    if not kinds:
        return []
    space = getattr(typed, "namespace", None) or configured_namespace(kubeconfig, context)
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        KubeClient.to(configured(kubeconfig, context), may_write=lambda: False) as client,
    ):
        listed = await asyncio.gather(*(_first(client, each, space) for each in kinds.values()))
    return [
        Candidate(item.metadata.name, about)
        for about, items in zip(kinds, listed, strict=True)
        for item in items
    ]


def _kinds(argument: str) -> dict[str, Resource]:
    """The kinds whose names may stand there, by what is said of each."""
    match argument:
        case "job":
            return _JOBS
        case "queue":
            return {"JobQueue": _QUEUES}
        case "namespace" | "console_namespace":
            return {"Namespace": NAMESPACES}
        case _:
            return {}


async def _first(client: KubeClient, resource: Resource, namespace: str) -> Sequence[KubeObject]:
    path = resource.within(namespace) if resource.namespaced else resource.everywhere()
    async for page in client.pages(path, KubeObject, page_size=MOST):
        return page.items
    return ()
