"""The operator as kopf runs it: `kopf run -m plimsoll.main --standalone --all-namespaces`.

kopf watches the custom resources. Its handlers only pass on what they are told: no finalizer, no
annotation and no retry of kopf's is used, since the loop looks at everything anew.
"""

import asyncio
import logging
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


@kopf.on.startup()
async def start(settings: kopf.OperatorSettings, memo: Memo, **_: Any) -> None:  # noqa: ANN401
    """Set kopf up to leave no traces, and start the operator."""
    ours = Settings.from_environment()
    telemetry.configure_logging(ours.log_level)
    settings.persistence.finalizer = f"{GROUP}/finalizer"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=GROUP)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=GROUP)
    settings.posting.enabled = False
    settings.peering.standalone = True
    settings.batching.idle_timeout = 1.0
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    logging.getLogger("kopf.objects").setLevel(logging.WARNING)
    memo.operator = Operator(await asyncio.to_thread(endpoint), ours)
    await memo.operator.start()


@kopf.on.cleanup()
async def stop(memo: Memo, **_: Any) -> None:  # noqa: ANN401 - as kopf calls it
    """Hand over the lease and end."""
    await memo.operator.stop()


async def _told(event: kopf.RawEvent, memo: Memo, **_: Any) -> None:  # noqa: ANN401 - same
    raw = event["object"]
    if event["type"] == "DELETED":
        memo.operator.resources.gone(raw["metadata"]["uid"])
    else:
        memo.operator.resources.told(raw)


for _kind in KINDS:
    kopf.on.event(GROUP, VERSION, _kind.definition.plural, id=_kind.definition.plural)(_told)
