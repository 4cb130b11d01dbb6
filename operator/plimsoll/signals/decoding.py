"""From the result of a query, as it travels, to samples. No value of it ever raises anything."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from plimsoll.errors import PrometheusUnusable
from plimsoll.signals.sample import Answer, Flaw, FlawedSample, Query, Sample

Point = tuple[float, str]


class _Series(msgspec.Struct, frozen=True):
    """An element of an instant vector (`value`) or of a matrix (`values`)."""

    metric: dict[str, str]
    value: Point | None = None
    values: tuple[Point, ...] = ()


def answer(result: object, query: Query, *, now: datetime | None = None) -> Answer:
    """The samples of a result, with their flaws; `now` is when an instant query was answered.

    Raises PrometheusUnusable if it is no vector, as for a scalar or a text.
    """
    samples: list[Sample] = []
    flawed: list[FlawedSample] = []
    for sample in _samples(result):
        flaw = flaw_of(sample.value, query)
        if flaw is None and now is not None and now - sample.at > query.stale_after:
            flaw = Flaw.STALE
        if flaw is None:
            samples.append(sample)
        else:
            flawed.append(FlawedSample(sample.labels, flaw, sample.at))
    return Answer(tuple(samples), tuple(flawed))


def flaw_of(value: float, query: Query) -> Flaw | None:
    """What is wrong with a value by itself."""
    if math.isnan(value):
        return Flaw.NAN
    if math.isinf(value):
        return Flaw.INFINITE
    return None if query.least <= value <= query.most else Flaw.ABSURD


def _samples(result: object) -> Iterator[Sample]:
    try:
        for series in msgspec.convert(result, list[_Series]):
            for seconds, text in (series.value,) if series.value else series.values:
                at = datetime.fromtimestamp(seconds, UTC)
                yield Sample(series.metric, float(text), at)
    except (msgspec.ValidationError, ValueError, OverflowError, OSError) as error:
        raise PrometheusUnusable(f"not the vector that was asked for: {error}") from error
