"""An error in one part of a turn is counted, and goes no further."""

from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from plimsoll.control.fence import fenced


def errors() -> float:
    return REGISTRY.get_sample_value("plimsoll_loop_errors_total") or 0.0


def test_what_fails_is_counted_and_said_and_the_others_go_on() -> None:
    before = errors()
    with capture_logs() as logged, fenced("nothing was reported"):
        raise MemoryError("too much")
    assert errors() == before + 1
    assert [each["event"] for each in logged] == ["nothing was reported"]


def test_what_goes_well_is_not_counted() -> None:
    before = errors()
    with fenced("nothing was reported"):
        pass
    assert errors() == before
