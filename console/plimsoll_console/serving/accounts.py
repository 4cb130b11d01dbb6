"""Requests for what was used, filtered by what their senders may see."""

from typing import Final

import msgspec
from aiohttp import hdrs, web

from plimsoll_console.reports.desk import Desk, sight_of
from plimsoll_console.reports.opencost import Fields as OpenCostFields
from plimsoll_console.reports.query import Fields, Sight
from plimsoll_console.serving.asker import Asker, Askers
from plimsoll_console.serving.responses import JSON

CSV: Final = "text/csv"


class Accounts:
    """Answers `usage` and `allocation`."""

    def __init__(self, askers: Askers, desk: Desk) -> None:
        self._askers, self._desk = askers, desk

    async def usage(self, asker: Asker, request: web.Request) -> web.Response:
        """What was used, as JSON, CSV or FOCUS."""
        given, standard = request.query, Fields()
        fields = Fields(
            given.get("since", standard.since),
            given.get("until", standard.until),
            given.get("by", standard.by),
            given.get("namespace", standard.namespace),
        )
        form = given.get("format", "json")
        return _response(await self._desk.usage(fields, form, await self._sight(asker)))

    async def allocation(self, asker: Asker, request: web.Request) -> web.Response:
        """The same as OpenCost answers it."""
        given, standard = request.query, OpenCostFields("7d")
        fields = OpenCostFields(
            given.get("window", standard.window),
            given.get("aggregate", standard.aggregate),
            given.get("step", standard.step),
            include_idle=given.get("includeIdle", "") == "true",
        )
        return _response(await self._desk.allocations(fields, await self._sight(asker)))

    async def _sight(self, asker: Asker) -> Sight:
        """What the asker may see, also of jobs that are gone."""
        return sight_of(await self._askers.rights_in(asker, await self._desk.places()))


def _response(found: object) -> web.Response:
    headers = {hdrs.CACHE_CONTROL: "no-store"}
    if isinstance(found, str):
        headers[hdrs.CONTENT_DISPOSITION] = 'attachment; filename="usage.csv"'
        return web.Response(text=found, content_type=CSV, headers=headers)
    return web.Response(body=msgspec.json.encode(found), content_type=JSON, headers=headers)
