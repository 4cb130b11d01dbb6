import io
import json
import logging
import re
from collections.abc import Iterator

import prometheus_client
import pytest
import structlog

from plimsoll.vocabulary.logs import configure_logging
from plimsoll.vocabulary.reasons import Reason


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def test_reasons_are_what_conditions_accept() -> None:
    # The pattern of metav1.Condition's reason, in CamelCase.
    assert all(re.fullmatch(r"[A-Z][A-Za-z0-9]*", reason) for reason in Reason)


def logged(*, as_json: bool | None = None) -> str:
    stream = io.StringIO()
    configure_logging("INFO", stream=stream, as_json=as_json)
    log = structlog.stdlib.get_logger("test")
    log.info("job placed", job="ns/train", gpus=8, reason=Reason.ADMITTED)
    log.debug("too fine")
    logging.getLogger("library").warning("from %s", "elsewhere")
    return stream.getvalue()


def test_what_is_not_a_terminal_gets_json() -> None:
    ours, theirs = (json.loads(line) for line in logged().splitlines())
    assert ours["event"] == "job placed"
    assert (ours["job"], ours["gpus"], ours["reason"]) == ("ns/train", 8, "Admitted")
    assert (ours["level"], ours["logger"]) == ("info", "test")
    assert "timestamp" in ours
    assert theirs["event"] == "from elsewhere"
    assert theirs["logger"] == "library"


def test_people_get_keys_and_values() -> None:
    ours, theirs = logged(as_json=False).splitlines()
    assert "job placed" in ours
    assert "reason=Admitted" in ours
    assert "from elsewhere" in theirs


def test_an_error_is_logged_without_the_values_of_variables() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream, as_json=False)
    password = "do-not-show"
    try:
        int(password[:0])
    except ValueError:
        structlog.stdlib.get_logger("test").exception("failed")
    assert "ValueError" in stream.getvalue()
    assert password not in stream.getvalue()


def test_every_metric_of_ours_says_what_it_counts() -> None:
    exposed = prometheus_client.generate_latest().decode()
    helps = re.findall(r"^# HELP (plimsoll_\S+) (.*)$", exposed, re.MULTILINE)
    names = {name for name, _ in helps}
    assert {"plimsoll_pending_jobs", "plimsoll_api_writes_total", "plimsoll_leader"} <= names
    assert all(len(text) > 20 for _, text in helps)
