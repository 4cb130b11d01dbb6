"""Ask the console's API with the user's own token."""

import argparse
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import msgspec

from plimsoll.cli.console.reaching import HOW_TO_GET_ONE, TOKENLESS, forwarded, own_token
from plimsoll.errors import BadInput, NothingFound, UnusableCluster
from plimsoll.kube.http.configured import configured
from plimsoll.kube.http.credentials import Endpoint
from plimsoll.naming import one_line

SECONDS: Final = 60.0
"""The console gives up a report after half of it."""
_NO_LEDGER: Final = "turn it on by console.ledger.enabled of the Helm chart"
_LONGEST_SAID: Final = 500


class _Problem(msgspec.Struct, frozen=True):
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Console:
    """A console at an address, asked by the bearer of a token.

    `is_forwarded`: the API server vouches for it, and its certificate is for another name.
    """

    url: str
    token: str
    is_forwarded: bool = False

    async def get(self, path: str, query: Mapping[str, str]) -> bytes:
        """What it answers. Raises BadInput."""
        timeout = aiohttp.ClientTimeout(total=SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(
                    f"{self.url}/api/v1/{path}",
                    params=query,
                    headers={"Authorization": f"Bearer {self.token}"},
                    ssl=not self.is_forwarded,
                    allow_redirects=False,  # the token is for this address alone
                ) as response,
            ):
                body = await response.read()
        except TimeoutError as error:
            raise UnusableCluster([f"the console has not answered for {SECONDS:g} s"]) from error
        except (aiohttp.ClientError, OSError) as error:
            why, how = one_line(str(error)), "check its address, and its certificate"
            raise UnusableCluster([f"the console does not respond: {why}: {how}"]) from error
        if response.status != HTTPStatus.OK:
            raise self._refusal(response.status, body)
        return body

    def no_console(self) -> BadInput:
        """The error that something else answers at the address."""
        said = f"{self.url}: what answers there is no console: name the console's own address"
        return UnusableCluster([said])

    def _refusal(self, status: int, body: bytes) -> BadInput:
        try:
            problems = msgspec.json.decode(body, type=_Problem).problems
        except msgspec.DecodeError:
            return self.no_console()
        said = one_line("; ".join(problems))[:_LONGEST_SAID]
        match status:
            case HTTPStatus.BAD_REQUEST:
                return BadInput([f"--{said}"])
            case HTTPStatus.NOT_FOUND:
                return NothingFound([f"the console keeps no ledger: {_NO_LEDGER}"])
            case HTTPStatus.UNAUTHORIZED:
                return UnusableCluster([f"the console rejects your token: {said}"])
            case _:
                return UnusableCluster([f"the console refuses: {said}"])


@asynccontextmanager
async def console_of(options: argparse.Namespace) -> AsyncGenerator[Console]:
    """The console that the options name, reached while the block lasts.

    Raises BadInput, NoCluster and ApiError.
    """
    if options.console:
        url = _address(options.console)
        yield Console(url, _token(options, None))
        return
    server = configured(options.kubeconfig, options.context)
    token = _token(options, server)
    async with forwarded(server, options.console_namespace, 0) as url:
        yield Console(url, token, is_forwarded=True)


def _token(options: argparse.Namespace, server: Endpoint | None) -> str:
    if options.token_file:
        return _sendable("--token-file", _read(options.token_file))
    token = own_token(server or configured(options.kubeconfig, options.context))
    if not token:
        how = " ".join(HOW_TO_GET_ONE.split())
        raise BadInput([f"{TOKENLESS}: give one with --token-file. {how}"])
    return _sendable("kubeconfig", token)


def _read(file: str) -> str:
    try:
        return Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        said = f"--token-file: {one_line(str(error))}: name a file with a token"
        raise BadInput([said]) from error


def _sendable(source: str, token: str) -> str:
    if not token or not token.isascii() or not token.isprintable():
        raise BadInput([f"{source}: there is no token in it: get one by kubectl create token NAME"])
    return token


def _address(text: str) -> str:
    """The console's address, without a slash at the end. Raises BadInput."""
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
        is_plain = not (parts.query or parts.fragment or parts.username or parts.port == 0)
    except ValueError:
        host, is_plain, parts = "", False, urlsplit("")
    if not host or not is_plain or parts.scheme not in ("http", "https"):
        raise BadInput([f"--console: {one_line(text)} is no address: write https://HOST[:PORT]"])
    if parts.scheme == "http" and not _is_here(host):
        said = "would send your token for all to read: use https, or a forwarded port of localhost"
        raise BadInput([f"--console: {one_line(text)} {said}"])
    return text.rstrip("/")


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
