"""Read past loads from before this process measured them: one Prometheus query per role."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from plimsoll.api.parts.roles import ANY_SIZE
from plimsoll.observe.measured.sample import QueryResult, Span
from plimsoll.signals.load.foresight.series import MOST_STEPS, STEP_SECONDS, step_of

LONGEST_BUCKET: Final = 63
MOST_BUCKETS: Final = 64
"""With more buckets, those with the most load count."""


def past_span(now: datetime) -> Span:
    """The last two weeks, at the ends of completed steps."""
    end = step_of(now) * STEP_SECONDS
    start = end - (MOST_STEPS - 1) * STEP_SECONDS
    return Span(datetime.fromtimestamp(start, UTC), datetime.fromtimestamp(end, UTC), STEP_SECONDS)


def past_loads(result: QueryResult) -> Mapping[str, Mapping[int, float]]:
    """The loads by bucket and step. The value at the end of a step is the load in it."""
    found: dict[str, dict[int, float]] = {}
    for sample in result.samples:
        bucket = (sample.labels.get("bucket") or ANY_SIZE)[:LONGEST_BUCKET]
        steps = found.setdefault(bucket, {})
        step = step_of(sample.at) - 1
        steps[step] = steps.get(step, 0.0) + sample.value
    most = sorted(found, key=lambda bucket: -sum(found[bucket].values()))[:MOST_BUCKETS]
    return {bucket: found[bucket] for bucket in most}
