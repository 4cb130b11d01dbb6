"""The operator as kopf runs it: `kopf run -m plimsoll.main --standalone --all-namespaces`.

kopf watches the custom resources. Its handlers only pass on what they are told: no finalizer, no
annotation and no retry of kopf's is used, since the loop looks at everything anew.
"""

import asyncio
import gc
import logging
from collections.abc import Mapping
from typing import Any

import kopf

from plimsoll import telemetry
from plimsoll.api.definition import GROUP, VERSION
from plimsoll.api.kinds import KINDS
from plimsoll.kube.credentials import endpoint
from plimsoll.service import Operator
from plimsoll.settings import Settings


class Memo(kopf.Memo):
    """What kopf hands to the handlers."""

    operator: Operator


class NoDiffBase(kopf.DiffBaseStorage):
    """No memory of what objects were: nothing here asks kopf what has changed.

    kopf's own would copy each object with each event to see what of it is essential.
    """

    def build(self, *, body: kopf.Body, extra_fields: object = None) -> kopf.BodyEssence:  # noqa: ARG002 - as kopf calls it
        """Nothing is essential."""
        return kopf.BodyEssence()

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:  # noqa: ARG002 - same
        """Nothing is remembered."""
        return None

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        """Nothing is to be remembered."""


@kopf.on.startup()
async def start(settings: kopf.OperatorSettings, memo: Memo, **_: Any) -> None:  # noqa: ANN401
    """Set kopf up to leave no traces, and start the operator."""
    ours = Settings.from_environment()
    telemetry.configure_logging(ours.log_level)
    settings.persistence.finalizer = f"{GROUP}/finalizer"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=GROUP)
    settings.persistence.diffbase_storage = NoDiffBase()
    settings.posting.enabled = False
    settings.peering.standalone = True
    settings.batching.idle_timeout = 1.0
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    logging.getLogger("kopf.objects").setLevel(logging.WARNING)
    # Snapshots are many long-lived objects without cycles: looking for cycles in them took a
    # quarter of a second at a time.
    gc.set_threshold(50_000, 50, 100)
    memo.operator = Operator(await asyncio.to_thread(endpoint), ours)
    await memo.operator.start()


@kopf.on.cleanup()
async def stop(memo: Memo, **_: Any) -> None:  # noqa: ANN401 - as kopf calls it
    """Hand over the lease and end."""
    await memo.operator.stop()


async def _told(event: kopf.RawEvent, memo: Memo, **_: Any) -> None:  # noqa: ANN401 - same
    raw: Mapping[str, Any] = event["object"]
    if event["type"] == "DELETED":
        memo.operator.resources.gone(raw)
    else:
        memo.operator.resources.told(raw)


for _kind in KINDS:
    kopf.on.event(GROUP, VERSION, _kind.definition.plural, id=_kind.definition.plural)(_told)
