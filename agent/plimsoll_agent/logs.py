"""Logs in the operator's format: one JSON object per line, on standard error."""

import sys

import structlog


def configure_logging(level: str) -> None:
    """Log what is of `level` or above."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def logger() -> structlog.typing.FilteringBoundLogger:
    """The logger, which takes an event and its key-value pairs."""
    return structlog.get_logger()
