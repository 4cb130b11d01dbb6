"""The operator as kopf runs it: `kopf run -m plimsoll.main --standalone --all-namespaces`.

kopf starts and stops it, and watches nothing: its watches end the process where they meet an object
that is nested too deep for Python's decoder, or an answer that is none, so that one such object
were a crash loop. `resource_watch` has what takes their place.
"""

import asyncio
import dataclasses
import gc
from datetime import UTC, datetime, timedelta
from typing import Any

import kopf

from plimsoll import telemetry
from plimsoll.kube.credentials import endpoint
from plimsoll.kube.transport import Limits
from plimsoll.service import Operator
from plimsoll.settings import Settings

LOGIN_PAUSE_SECONDS = 1.0
"""How long after a refusal credentials are read again."""
NEVER = timedelta(days=3650)


class Memo(kopf.Memo):
    """What kopf hands to the handlers."""

    operator: Operator
    has_logged_in: bool


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
    settings.posting.enabled = False
    settings.peering.standalone = True
    # Or else it would watch definitions and namespaces, which nobody asks it about.
    settings.scanning.disabled = True
    limits = Limits()
    settings.networking.connect_timeout = limits.connect_seconds
    settings.networking.request_timeout = limits.silence_seconds
    # Snapshots are many long-lived objects without cycles: looking for cycles in them took a
    # quarter of a second at a time.
    gc.set_threshold(50_000, 50, 100)
    memo.operator = Operator(await asyncio.to_thread(endpoint), ours)
    await memo.operator.start()


@kopf.on.cleanup()
async def stop(memo: Memo, **_: Any) -> None:  # noqa: ANN401 - as kopf calls it
    """Hand over the lease and end."""
    await memo.operator.stop()
