"""The proxy between an operator and its API server, in a thread of its own."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from plimsoll.kube.http.credentials import endpoint
from plimsoll_devcluster.proxies.fault_kinds import Fault
from plimsoll_devcluster.proxies.faulty_proxy import FaultyProxy
from plimsoll_devcluster.proxies.passing_on import in_a_thread, kubeconfig_to
from plimsoll_devcluster.waiting import wait_until


@dataclass(frozen=True, slots=True)
class FaultyApi:
    """The proxy's interface for other threads; `kubeconfig` leads through it."""

    proxy: FaultyProxy
    kubeconfig: Path
    loop: asyncio.AbstractEventLoop

    def let(self, act: Callable[[FaultyProxy], object]) -> None:
        """Run a method of the proxy without waiting for it."""
        self.loop.call_soon_threadsafe(act, self.proxy)

    def half_open(self, within: str = "") -> None:
        """Return once nothing arrives any more by a watch of such paths, or by any connection.

        A watch lasts only for seconds and may not be open at the moment, so it is looked for where
        the proxy cannot change meanwhile: in its event loop.
        """
        awaited = within or "/trainingjobs"
        hit = self.proxy.fired[Fault.HALF_OPEN]

        def strike(proxy: FaultyProxy) -> None:
            if proxy.fired[Fault.HALF_OPEN] == hit and proxy.is_listened_to(awaited):
                proxy.half_open(within)

        def has_struck() -> bool:
            self.let(strike)
            return self.proxy.fired[Fault.HALF_OPEN] > hit

        wait_until(has_struck, timeout_seconds=60, what=f"{awaited} is watched")


@contextmanager
def faulty_api(kubeconfig: Path, folder: Path) -> Generator[FaultyApi]:
    """Yield a proxy in front of a cluster."""
    with in_a_thread(_running(kubeconfig, folder)) as found:
        yield found


@asynccontextmanager
async def _running(kubeconfig: Path, folder: Path) -> AsyncGenerator[FaultyApi]:
    proxy = FaultyProxy(endpoint(kubeconfig))
    async with proxy.running() as door:
        through = kubeconfig_to(door.server, kubeconfig, folder)
        yield FaultyApi(proxy, through, asyncio.get_running_loop())
