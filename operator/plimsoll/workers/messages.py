"""The wire messages between a worker and the operator, with their validation.

No timestamp is taken from a worker, whose clock may be wrong: it says how long ago things were.
"""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Final

import msgspec

from plimsoll.api.parts.batch import MOST_SAMPLES
from plimsoll.errors import BadReport

MOST_BYTES: Final = 4096
"""The maximum length of a report."""
_MOST: Final = Decimal(10) ** 18
_DIGITS: Final = 9
"""After the decimal point, where Kubernetes' quantities end."""

_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
_Samples = Annotated[float, msgspec.Meta(ge=0, le=1e15)]
_Batch = Annotated[int, msgspec.Meta(ge=1, le=MOST_SAMPLES)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1000)]


class Report(msgspec.Struct, frozen=True, rename="camel"):
    """A worker's complete report. It omits whatever it does not know.

    `job` is the name of the job that it believes to be its own. The other fields are those of
    WorkerReport, except that `saved` was complete that many seconds ago.
    """

    job: str
    done: Decimal | None = None
    rate: Decimal | None = None
    saved: Decimal | None = None
    saved_seconds_ago: _Seconds | None = None
    efficiency: _Share | None = None
    gradient_noise: _Samples | None = None
    compute_seconds: _Seconds | None = None
    step_seconds: _Seconds | None = None
    batch: _Batch | None = None
    acknowledged: Annotated[str, msgspec.Meta(max_length=63)] = ""


class NoticeMessage(msgspec.Struct, frozen=True, rename="camel"):
    """What is about to happen to a worker, and how long it has."""

    id: str
    reason: str
    message: str
    deadline: datetime
    seconds_left: float


class BatchMessage(msgspec.Struct, frozen=True, rename="camel"):
    """The samples of a step: in all, by each rank at once, and how many times."""

    size: int
    local: int
    accumulation: int


class Instructions(msgspec.Struct, frozen=True, rename="camel"):
    """What a worker should do: `save` now and, once it has, `stop`. Without a notice, go on.

    `batch` is the one to train with from now on; None if the plan has chosen none.
    """

    save: bool
    stop: bool
    notice: NoticeMessage | None
    checkpoint_interval_seconds: float
    report_interval_seconds: float
    batch: BatchMessage | None = None


_decoder = msgspec.json.Decoder(Report)
encode = msgspec.json.Encoder().encode


def decoded(body: bytes) -> Report:
    """The report in a request's body; raises BadReport."""
    try:
        report = _decoder.decode(body)
    except (msgspec.DecodeError, ValueError, ArithmeticError, RecursionError) as error:
        raise BadReport(f"{error}; docs/guides/training.md lists the fields") from error
    for name in ("done", "rate", "saved"):
        _require_amount(name, getattr(report, name))
    if report.saved is not None and report.saved_seconds_ago is None:
        raise BadReport("savedSecondsAgo: is missing; say how long ago `saved` was whole")
    return report


def _require_amount(name: str, value: Decimal | None) -> None:
    if value is not None and not (value.is_finite() and 0 <= value <= _MOST):
        raise BadReport(f"{name}: {value} is no amount; send a number from 0 to 1e18")


def amount(value: Decimal | None) -> Decimal | None:
    """An amount as Kubernetes' quantities have it."""
    return None if value is None else round(value, _DIGITS)
