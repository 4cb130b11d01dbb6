"""Structured logs: keys and values, with reasons taken from `Reason`."""

import logging
import sys
from collections.abc import Generator, MutableMapping
from contextlib import contextmanager
from typing import Any, TextIO

import structlog

from plimsoll.vocabulary.reasons import Reason


def configure_logging(
    level: str = "INFO", *, stream: TextIO = sys.stderr, as_json: bool | None = None
) -> None:
    """Log as key and value: JSON for machines, coloured columns for a terminal.

    Libraries that log through the standard library are handled the same way. Without `as_json`,
    logs are JSON unless `stream` is a terminal.
    """
    if as_json is None:
        as_json = not stream.isatty()
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _plain_reasons,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_rendering(as_json=as_json, colors=stream.isatty()),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)


@contextmanager
def only_errors() -> Generator[None]:
    """Log only errors meanwhile, to stderr: for what runs the operator in its own process."""
    before = structlog.get_config() if structlog.is_configured() else None
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        # Otherwise this would hold for loggers for good.
        cache_logger_on_first_use=False,
    )
    try:
        yield
    finally:
        structlog.reset_defaults()
        if before is not None:
            structlog.configure(**before)


def logger(name: str) -> structlog.stdlib.BoundLogger:
    """The logger of a module. Log keys and values, not formatted sentences."""
    return structlog.stdlib.get_logger(name)


def _rendering(*, as_json: bool, colors: bool) -> list[structlog.typing.Processor]:
    if as_json:
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    # Plain tracebacks: rich ones print local variables, including any secrets.
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain)]


def _plain_reasons(
    _logger: object,
    _method: str,
    event: MutableMapping[str, Any],
) -> MutableMapping[str, Any]:
    # The console renders values by repr, which would show the enum member rather than its value.
    for key, value in event.items():
        if isinstance(value, Reason):
            event[key] = value.value
    return event
