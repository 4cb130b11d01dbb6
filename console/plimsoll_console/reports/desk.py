"""Answer requests for reports: in threads of their own, a few at a time, each within a limit.

A database that hangs holds up these threads, and neither the page nor the ledger's writer.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from plimsoll_console.access.rights import JOB_KINDS, Place, Rights
from plimsoll_console.errors import AskedTooOften, BadQuestion, NotReady, TooHard
from plimsoll_console.ledger.database.connection import reading
from plimsoll_console.ledger.database.reading import namespaces
from plimsoll_console.reports import focus, opencost
from plimsoll_console.reports.focus import Billing
from plimsoll_console.reports.query import Fields, Query, Sight, dimensions
from plimsoll_console.reports.spreadsheet import as_csv
from plimsoll_console.reports.times import UnusableQuery
from plimsoll_console.reports.usage import Report, as_json, usage

AT_ONCE: Final = 2
MOST_WAITING: Final = 20
SECONDS: Final = 30.0
MOST_NAMESPACES: Final = 2000
T = TypeVar("T")


class Desk:
    """Makes reports from a database."""

    def __init__(self, engine: Engine, billing: Billing) -> None:
        self._engine, self._billing = engine, billing
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="reports")
        self._asked = 0

    def close(self) -> None:
        """Take no more requests."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def places(self) -> frozenset[Place]:
        """Where jobs were charged: what a reader may see of that must be asked for."""
        found = await self._run(self._namespaces)
        return frozenset((each.kind, name) for name in found for each in JOB_KINDS)

    async def usage(self, fields: Fields, form: str, sight: Sight) -> object:
        """The report in a form; text for those with commas. Raises AskRefused."""
        make = self._forms().get(form)
        if make is None:
            choice = ", ".join(self._forms())
            raise BadQuestion(f"format: there is no {form[:40]!r}: use one of {choice}")
        return await self._run(lambda: make(fields, sight))

    async def allocations(self, fields: opencost.Fields, sight: Sight) -> object:
        """The report as OpenCost answers it. Raises AskRefused."""
        return await self._run(lambda: self._allocations(fields, sight))

    def _forms(self) -> dict[str, Callable[[Fields, Sight], object]]:
        grams = self._billing.grams_per_kwh
        return {
            "json": lambda fields, sight: as_json(self._usage(fields, sight), grams),
            "csv": lambda fields, sight: as_csv(self._usage(fields, sight), grams),
            "focus": self._focus,
        }

    def _focus(self, fields: Fields, sight: Sight) -> str:
        also = [each for each in dimensions("by", fields.by) if each not in focus.BY]
        by = ",".join(each.value for each in (*focus.BY, *also))
        report = self._usage(replace(fields, by=by), sight)
        return focus.as_focus_csv(report, self._billing)

    def _usage(self, fields: Fields, sight: Sight) -> Report:
        return usage(self._engine, Query.parsed(fields, _now(), sight))

    def _allocations(self, fields: opencost.Fields, sight: Sight) -> object:
        asked = opencost.queries(fields, _now(), sight)
        reports = [usage(self._engine, each) for each in asked]
        return opencost.as_allocations(reports, include_idle=fields.include_idle)

    def _namespaces(self) -> list[str]:
        with reading(self._engine) as connection:
            return namespaces(connection, most=MOST_NAMESPACES)

    async def _run(self, make: Callable[[], T]) -> T:
        if self._asked >= MOST_WAITING:
            raise AskedTooOften("too many reports are being made: try again in a few seconds")
        self._asked += 1
        asked = asyncio.get_running_loop().run_in_executor(self._threads, make)
        asked.add_done_callback(self._done)
        try:
            async with asyncio.timeout(SECONDS):
                return await asyncio.shield(asked)
        except UnusableQuery as error:
            raise BadQuestion(str(error)) from error
        except TimeoutError as error:
            raise TooHard(f"the report took more than {SECONDS:g} s: ask for less") from error
        except (SQLAlchemyError, OSError) as error:
            raise NotReady("the ledger's database cannot be read now: try again") from error

    def _done(self, asked: "asyncio.Future[T]") -> None:
        self._asked -= 1
        if not asked.cancelled():
            # Nobody may wait for it any more.
            asked.exception()


def sight_of(rights: Rights) -> Sight:
    """What a reader of reports sees by name: namespaces all of whose jobs may be seen."""
    if rights.all_jobs:
        return Sight(None, nodes=rights.nodes)
    named = [n for n in rights.namespaces if all(rights.job(each.kind, n) for each in JOB_KINDS)]
    return Sight(frozenset(named), nodes=rights.nodes)


def _now() -> datetime:
    return datetime.now(UTC)
