"""Recorded requests: when they come and with how many tokens, and their buckets by input.

Files are CSV, optionally gzipped. Two sets of columns are known: TIMESTAMP, ContextTokens and
GeneratedTokens (Azure), and timestamp_ms, input_tokens and output_tokens (Mooncake). Each file
begins at second 0, and all together are one day of one model.
"""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from plimsoll_bench.mixed_day.replica import Request
from plimsoll_bench.recorded import Row, rows_in


@dataclass(frozen=True, slots=True)
class Day:
    """Requests in the order of their arrival, and buckets by the most tokens of input.

    The last bucket has what is above all bounds.
    """

    requests: tuple[Request, ...]
    bounds: tuple[int, ...]
    seconds: float

    def bucket(self, request: Request) -> int:
        """The index of a request's bucket."""
        return bisect_left(self.bounds, request.input_tokens)

    def only(self, buckets: Collection[int]) -> "Day":
        """The same without the requests of other buckets."""
        kept = tuple(each for each in self.requests if self.bucket(each) in buckets)
        return replace(self, requests=kept)

    def by_bucket(self) -> tuple[tuple[Request, ...], ...]:
        """All requests, by bucket."""
        found: list[list[Request]] = [[] for _ in range(len(self.bounds) + 1)]
        for request in self.requests:
            found[self.bucket(request)].append(request)
        return tuple(tuple(each) for each in found)


def requests_in(paths: Sequence[Path], speed: float) -> tuple[Request, ...]:
    """The requests of all files, at `speed` times the recorded rate."""
    found = [
        Request((request.arrives - of_file[0].arrives) / speed, *_tokens(request))
        for of_file in map(_requests_of, paths)
        for request in of_file
    ]
    return tuple(sorted(found, key=_arrives))


def _requests_of(path: Path) -> list[Request]:
    return sorted((_request(row) for row in rows_in(path)), key=_arrives)


def _request(row: Row) -> Request:
    if row.has("TIMESTAMP"):
        tokens = row.whole("ContextTokens", least=1), row.whole("GeneratedTokens")
        return Request(_seconds(row), *tokens)
    at = row.number("timestamp_ms") / 1000
    return Request(at, row.whole("input_tokens", least=1), row.whole("output_tokens"))


def _seconds(row: Row) -> float:
    written = row.text("TIMESTAMP")
    try:
        # Seven digits of a second are written, and Python reads six.
        return datetime.fromisoformat(written[:26] + "+00:00").timestamp()
    except ValueError as error:
        raise row.wrong("TIMESTAMP", "is no time") from error


def _tokens(request: Request) -> tuple[int, int]:
    return request.input_tokens, request.output_tokens


def _arrives(request: Request) -> float:
    return request.arrives
