"""Decode query results into samples; no value in a result ever raises an error."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import msgspec

from plimsoll.errors import PrometheusUnusable
from plimsoll.observe.measured.sample import Flaw, FlawedSample, Labels, Query, QueryResult, Sample

T = TypeVar("T")
Point = tuple[float, str]
_NEVER: Final = datetime.fromtimestamp(0, UTC)


class _Series(msgspec.Struct, frozen=True):
    """An element of an instant vector (`value`) or of a matrix (`values`)."""

    metric: dict[str, str]
    value: Point | None = None
    values: tuple[Point, ...] = ()


class _OddSeries(msgspec.Struct, frozen=True):
    """An element with a malformed part."""

    metric: Any = None
    value: Any = None
    values: Any = None


def query_result(result: object, query: Query, *, now: datetime | None = None) -> QueryResult:
    """The samples of a result, with their flaws; `now` is when an instant query was answered.

    A malformed sample or series affects no other. Raises PrometheusUnusable if the result is no
    vector, such as a scalar or a string.
    """
    samples: list[Sample] = []
    flawed: list[FlawedSample] = []
    for sample in _samples(result):
        if isinstance(sample, FlawedSample):
            flawed.append(sample)
            continue
        flaw = flaw_of(sample.value, query)
        if flaw is None and now is not None and now - sample.at > query.stale_after:
            flaw = Flaw.STALE
        if flaw is None:
            samples.append(sample)
        else:
            flawed.append(FlawedSample(sample.labels, flaw, sample.at))
    return QueryResult(tuple(samples), tuple(flawed))


def flaw_of(value: float, query: Query) -> Flaw | None:
    """What is wrong with a value in itself."""
    if math.isnan(value):
        return Flaw.NAN
    if math.isinf(value):
        return Flaw.INFINITE
    return None if query.least <= value <= query.most else Flaw.ABSURD


def _samples(result: object) -> Iterator[Sample | FlawedSample]:
    try:
        for series in msgspec.convert(result, list[_Series]):
            for point in (series.value,) if series.value else series.values:
                yield _sample(series.metric, point)
    except msgspec.ValidationError:
        yield from _one_by_one(result)


def _one_by_one(result: object) -> Iterator[Sample | FlawedSample]:
    """The elements of a vector with malformed ones, and a flaw for each of those."""
    try:
        found = msgspec.convert(result, list[_OddSeries])
    except msgspec.ValidationError as error:
        raise PrometheusUnusable(f"not the vector that was asked for: {error}") from error
    for series in found:
        labels = _converted(series.metric, dict[str, str])
        values = _converted(series.values, list[Any]) or ()
        for each in (series.value,) if series.value is not None else values:
            point = None if labels is None else _converted(each, Point)
            yield _sample(labels or {}, point)


def _sample(labels: Labels, point: Point | None) -> Sample | FlawedSample:
    try:
        if point is not None:
            seconds, text = point
            return Sample(labels, float(text), datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        pass
    return FlawedSample(labels, Flaw.MALFORMED, _NEVER)


def _converted(value: object, type_: type[T]) -> T | None:
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError:
        return None
