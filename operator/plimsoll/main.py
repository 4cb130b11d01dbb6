"""Entry point under kopf: `kopf run -m plimsoll.main --standalone --all-namespaces`.

kopf provides the command line and an orderly shutdown, and nothing else. It is not used for
watching: its watches end the process on an object nested too deep for Python's decoder, or on a
response that is not JSON, so a single such object would cause a crash loop.
`control/resource_watch.py` watches instead.
"""

import asyncio
import gc
from typing import Any

import kopf

from plimsoll.control.loop_terms import GC_THRESHOLDS
from plimsoll.kube.http.credentials import endpoint
from plimsoll.service import Operator
from plimsoll.settings import Settings
from plimsoll.vocabulary import logs


@kopf.on.startup(errors=kopf.ErrorsMode.PERMANENT)
async def run(**_: Any) -> None:  # noqa: ANN401 - as kopf calls it
    """Run until cancelled, which is how kopf passes on SIGTERM; a failed start ends the process."""
    settings = Settings.from_environment()
    logs.configure_logging(settings.log_level)
    gc.set_threshold(*GC_THRESHOLDS)
    operator = Operator(await asyncio.to_thread(endpoint), settings)
    try:
        await operator.start()
        await asyncio.Event().wait()
    finally:
        await operator.stop()
