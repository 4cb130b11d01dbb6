"""How often the ledger looks, writes and tries again."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Terms:
    """Seconds, but for `retention_days`.

    It looks every `look_seconds`, or every `write_seconds` if these are fewer.

    After a write has failed, the next follows after `write_seconds`, and twice as long after each
    further one, up to `longest_rest_seconds`. A console that finds another one writing takes over
    once nothing was written for `takeover_seconds`.
    """

    look_seconds: float = 15
    write_seconds: float = 60
    longest_rest_seconds: float = 300
    takeover_seconds: float = 90
    forget_seconds: float = 86_400
    retention_days: int = 400
