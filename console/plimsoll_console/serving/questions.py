"""What is posted: read, checked, and handed to the desk."""

import asyncio
from typing import Final, TypeVar

import msgspec
from aiohttp import web

from plimsoll_console.asking.desk import Desk
from plimsoll_console.errors import BadQuestion
from plimsoll_console.messages.questions import ExplainRequest, WhatIfRequest
from plimsoll_console.serving import responses
from plimsoll_console.serving.asker import Asker, Askers
from plimsoll_console.serving.shown import Shown

BODY_SECONDS: Final = 10.0
Q = TypeVar("Q", ExplainRequest, WhatIfRequest)


class Questions:
    """Answers what is posted."""

    def __init__(self, askers: Askers, shown: Shown, desk: Desk) -> None:
        self._askers, self._shown, self._desk = askers, shown, desk

    async def explain(self, asker: Asker, request: web.Request) -> web.Response:
        """Why a job waits."""
        asked = await self._asked(asker, request, ExplainRequest)
        sight = self._shown.sight(asker.seen, asker.rights)
        found = await self._desk.explain(asker.user.name, asker.seen, sight, asked)
        return responses.of_message(found)

    async def what_if(self, asker: Asker, request: web.Request) -> web.Response:
        """What would change if a job were different."""
        asked = await self._asked(asker, request, WhatIfRequest)
        sight = self._shown.sight(asker.seen, asker.rights)
        found = await self._desk.what_if(asker.user.name, asker.seen, sight, asked)
        return responses.of_message(found)

    async def _asked(self, asker: Asker, request: web.Request, kind: type[Q]) -> Q:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await request.read()
            asked = msgspec.json.decode(body, type=kind)
        except TimeoutError as error:
            raise BadQuestion(f"the question did not come within {BODY_SECONDS:g} s") from error
        except (msgspec.DecodeError, RecursionError) as error:
            raise BadQuestion(f"{error}: correct it") from error
        await self._askers.require(asker, f"jobs/{asked.kind}/{asked.namespace}/{asked.name}")
        return asked
