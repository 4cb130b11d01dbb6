"""Entry point of the console: `python -m plimsoll_console.main`."""

import asyncio
import gc
import signal
import sys

from kubernetes.config import ConfigException

from plimsoll.control.loop_terms import GC_THRESHOLDS
from plimsoll.kube.http.credentials import Endpoint, endpoint
from plimsoll.vocabulary import logs
from plimsoll_console.service import Console
from plimsoll_console.settings import Settings


async def run(where: Endpoint, settings: Settings) -> None:
    """Run until asked to end; a failed start raises."""
    ended = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, ended.set)
    console = Console(where, settings)
    try:
        await console.start()
        await ended.wait()
    finally:
        await console.stop()


def main() -> int:
    """Run the console until told to stop; return 0, or 2 if it cannot start."""
    try:
        settings = Settings.from_environment()
        where = endpoint()
    except (ValueError, ConfigException, OSError) as error:
        print(f"plimsoll-console: {error}", file=sys.stderr)  # noqa: T201 - no logger yet
        return 2
    logs.configure_logging(settings.log_level)
    gc.set_threshold(*GC_THRESHOLDS)
    asyncio.run(run(where, settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
