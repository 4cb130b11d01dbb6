"""What all tests share."""

import structlog

# The default draws each traceback with all local variables, which takes a second for some.
structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)
