"""Forward a port to the console, and open the page with the user's token."""

import argparse
import asyncio
import html
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Final
from urllib.parse import quote

from plimsoll.cli.cluster.refusals import explained
from plimsoll.cli.console.reaching import HOW_TO_GET_ONE, RIGHTS, TOKENLESS, forwarded, own_token
from plimsoll.errors import BadInput, UnusableCluster
from plimsoll.kube.http.configured import configured
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.vocabulary.logs import only_errors

_SIGN_IN: Final = f"{TOKENLESS}: the page asks for one. {HOW_TO_GET_ONE}\n"


def open_page(options: argparse.Namespace) -> None:
    """Open the page, and forward its requests until interrupted. Raises BadInput."""
    with explained(error_type=UnusableCluster, right=RIGHTS), only_errors():
        server = configured(options.kubeconfig, options.context)
        asyncio.run(_kept_open(server, options))


async def _kept_open(server: Endpoint, options: argparse.Namespace) -> None:
    try:
        async with forwarded(server, options.namespace, options.port) as url:
            # Only its owner may look into it, and it is gone when the command ends.
            with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
                browses = not options.no_browser
                _announce(f"{url}/", own_token(server), Path(folder) if browses else None)
                await asyncio.Event().wait()
    except OSError as error:
        said = f"--port {options.port}: cannot be listened on ({error.strerror}): name another"
        raise BadInput([said]) from error


def _announce(plain: str, token: str, folder: Path | None) -> None:
    """Open the page by a file in the folder, or say where it is."""
    address = f"{plain}#token={quote(token, safe='')}" if token else plain
    if not token:
        sys.stderr.write(_SIGN_IN)
    if folder is not None and webbrowser.open(leading_to(address, folder).as_uri()):
        sys.stdout.write(f"The console is open at {plain} until you press Ctrl-C.\n")
    else:
        sys.stdout.write(f"{address}\n")
    sys.stdout.flush()


def leading_to(address: str, folder: Path) -> Path:
    """A file that leads a browser to an address, since all users can see a program's arguments."""
    page = folder / "console.html"
    page.touch(mode=0o600)
    page.write_text(f'<meta http-equiv="refresh" content="0; url={html.escape(address)}">')
    return page
