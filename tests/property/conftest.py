"""How hard the property tests look: the same few examples every time, or many new ones.

`HYPOTHESIS_PROFILE=thorough` asks for the latter.
"""

import os

from hypothesis import HealthCheck, settings

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=80,
    database=None,
    suppress_health_check=SLOW_IS_FINE,
)
settings.register_profile(
    "thorough",
    deadline=None,
    max_examples=1000,
    print_blob=True,
    suppress_health_check=SLOW_IS_FINE,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
