"""The operator as kopf runs it: `kopf run -m plimsoll.main --standalone --all-namespaces`.

kopf gives it a command line, and ends it in good order when it is told to stop. It gets no further
than its own start, and asks the API server nothing: its watches end the process where they meet an
object that is nested too deep for Python's decoder, or an answer that is none, so that one such
object were a crash loop. `resource_watch` has what takes their place.
"""

import asyncio
import gc
from typing import Any

import kopf

from plimsoll import telemetry
from plimsoll.kube.http.credentials import endpoint
from plimsoll.service import Operator
from plimsoll.settings import Settings


@kopf.on.startup(errors=kopf.ErrorsMode.PERMANENT)
async def run(**_: Any) -> None:  # noqa: ANN401 - as kopf calls it
    """Run until cancelled, which is how kopf passes SIGTERM on; a start that fails is the end."""
    settings = Settings.from_environment()
    telemetry.configure_logging(settings.log_level)
    # Snapshots are many long-lived objects without cycles: looking for cycles in them took a
    # quarter of a second at a time.
    gc.set_threshold(50_000, 50, 100)
    operator = Operator(await asyncio.to_thread(endpoint), settings)
    try:
        await operator.start()
        await asyncio.Event().wait()
    finally:
        await operator.stop()
