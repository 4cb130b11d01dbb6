"""Post events to a URL, signed as https://www.standardwebhooks.com says."""

import asyncio
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp
from standardwebhooks import Webhook as Signer
from standardwebhooks.webhooks import EmptyWebhookSecretError

from plimsoll_console.errors import NotDelivered
from plimsoll_console.notifications.cloud_event import CONTENT_TYPE

TIMEOUT_SECONDS = 10.0


class Webhook:
    """A receiver of events. Redirects are not followed: they would lead the signature elsewhere."""

    def __init__(self, url: str, secret_file: Path | None) -> None:
        self._url, self._secret_file = url, secret_file
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS), auto_decompress=False
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def post(self, name: str, body: bytes, now: datetime) -> None:
        """Deliver the event of that id. Raises NotDelivered; the answer's body is not read."""
        if self._session is None:
            raise RuntimeError("enter the webhook first")
        headers = await asyncio.to_thread(self._headers, name, body, now)
        try:
            async with self._session.post(
                self._url, data=body, headers=headers, allow_redirects=False
            ) as response:
                status = response.status
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise NotDelivered(f"{type(error).__name__}: {error}") from error
        if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            raise NotDelivered(f"the receiver answers {status}")

    def _headers(self, name: str, body: bytes, now: datetime) -> dict[str, str]:
        """The headers; the secret is read each time, so that it may be replaced."""
        headers = {"Content-Type": CONTENT_TYPE, "webhook-id": name}
        if self._secret_file is None:
            return headers
        try:
            signer = Signer(self._secret_file.read_text().strip())
        except (OSError, ValueError, EmptyWebhookSecretError) as error:
            raise NotDelivered(f"the signing secret {self._secret_file}: {error}") from error
        return headers | {
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": signer.sign(msg_id=name, timestamp=now, data=body.decode()),
        }
