"""What all tests share.

`HYPOTHESIS_PROFILE` says how hard property tests look: `ci` draws the same examples every time,
`quick` fewer of them (as `make test` does), `thorough` many new ones.
"""

import gc
import os

import structlog
from hypothesis import HealthCheck, settings

# The default draws each traceback with all local variables, which takes a second for some.
structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=50,
    database=None,
    suppress_health_check=SLOW_IS_FINE,
)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=10)
settings.register_profile(
    "thorough",
    deadline=None,
    max_examples=1000,
    print_blob=True,
    suppress_health_check=SLOW_IS_FINE,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_finish() -> None:
    """Leave what was imported out of each search for garbage, which takes a tenth of the time."""
    gc.collect()
    gc.freeze()
