"""The operator as kopf runs it: `kopf run -m plimsoll.main --standalone --all-namespaces`.

kopf watches the custom resources. Its handlers only pass on what they are told: no finalizer, no
annotation and no retry of kopf's is used, since the loop looks at everything anew.
"""

import asyncio
import dataclasses
import gc
import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import kopf

from plimsoll import telemetry
from plimsoll.api.definition import GROUP, VERSION
from plimsoll.api.kinds import KINDS
from plimsoll.kube.credentials import endpoint
from plimsoll.kube.transport import Limits
from plimsoll.kube.watch import WatchTerms
from plimsoll.service import Operator
from plimsoll.settings import Settings

LOGIN_PAUSE_SECONDS = 1.0
"""How long after a refusal credentials are read again."""
NEVER = timedelta(days=3650)


class Memo(kopf.Memo):
    """What kopf hands to the handlers."""

    operator: Operator
    has_logged_in: bool


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


@kopf.on.login()
async def log_in(memo: Memo, **kwargs: Any) -> kopf.ConnectionInfo | None:  # noqa: ANN401
    """Read the credentials, as kopf would by itself; those that were refused may be good again.

    kopf takes none that equal what was refused, and ends, though the server may have been at
    fault, or the file is about to be renewed. A date makes them others each time.
    """
    if memo.get("has_logged_in", False):
        await asyncio.sleep(LOGIN_PAUSE_SECONDS)
    memo.has_logged_in = True
    found = await asyncio.to_thread(kopf.login_via_client, **kwargs)
    return found and dataclasses.replace(found, expiration=datetime.now(UTC) + NEVER)


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
    _be_patient(settings, WatchTerms(watch_seconds=ours.watch_seconds), Limits())
    logging.getLogger("kopf.objects").setLevel(logging.WARNING)
    # Snapshots are many long-lived objects without cycles: looking for cycles in them took a
    # quarter of a second at a time.
    gc.set_threshold(50_000, 50, 100)
    memo.operator = Operator(await asyncio.to_thread(endpoint), ours)
    await memo.operator.start()


def _be_patient(settings: kopf.OperatorSettings, terms: WatchTerms, limits: Limits) -> None:
    """Have kopf notice as soon as we do that a connection has died in silence."""
    settings.watching.server_timeout = terms.watch_seconds
    settings.watching.inactivity_timeout = terms.longest_silence_seconds
    settings.networking.connect_timeout = limits.connect_seconds
    # kopf's is for the whole of an answer, so lists come in parts, as ours do.
    settings.networking.request_timeout = limits.silence_seconds
    settings.watching.chunk_size = terms.page_size


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
