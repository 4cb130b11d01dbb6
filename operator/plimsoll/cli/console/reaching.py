"""Forward a local port to the console, and find the token of its user."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from plimsoll.cli.console.finding import console_in
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.kube.http.port_forward import PortForward

_BEARER: Final = "Bearer "
RIGHTS: Final = "list pods, and to get and create pods/portforward, where the console runs"
TOKENLESS: Final = "Your kubeconfig has no token, and a client certificate is none"
HOW_TO_GET_ONE: Final = (
    "The\ntoken of a ServiceAccount that may see what you may will do: kubectl create token NAME"
)


@asynccontextmanager
async def forwarded(server: Endpoint, namespace: str | None, port: int) -> AsyncGenerator[str]:
    """Where the console of a namespace, None for any, is reached while the block lasts.

    Port 0 takes any free one. Raises NothingFound, ApiError, and OSError if it cannot be listened
    on.
    """
    async with KubeClient.to(server, may_write=lambda: False) as client:
        found = await console_in(client, namespace)
    forward = PortForward(server, found.target)
    async with forward.listening(port) as local:
        await forward.check()
        yield f"{found.scheme}://127.0.0.1:{local}"


def own_token(server: Endpoint) -> str:
    """The token that the kubeconfig's user sends; "" if it sends none."""
    given = server.authorization() or ""
    return given.removeprefix(_BEARER) if given.startswith(_BEARER) else ""
