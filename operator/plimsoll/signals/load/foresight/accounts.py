"""Keep for each load how much of it was unserved, so that the allowed share holds in the long run.

Kept from look to look; at first it is what the job's status says, where it is written once an hour.
What cannot be, such as a load of many times the capacity, counts as no more than a bad hour.
"""

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from plimsoll.api.inference_job import InferenceJob, UnservedLoad
from plimsoll.api.parts.roles import Role
from plimsoll.observe.measured.demand import Unserved
from plimsoll.planning.serving.replicas import ready_capacity, role_status
from plimsoll.signals.load.foresight.aim import WHOLE_PERCENT
from plimsoll_placement.estimate.forecast.account import HALF_LIFE_SECONDS, Account

MOST_OVERLOAD: Final = 10.0
"""More than this multiple of the capacity is not counted."""
MOST_SECONDS: Final = HALF_LIFE_SECONDS / math.log(2)
"""The most that the seconds of an account add up to."""


@dataclass(frozen=True, slots=True)
class Serving:
    """What serves a load now, None if that is unknown, and what its job's status says of before."""

    capacity: float | None = None
    before: Unserved | None = None


@dataclass(slots=True)
class _Kept:
    account: Account
    looked: datetime


def serving_now(job: InferenceJob, role: Role, loads: Mapping[str, float]) -> Mapping[str, Serving]:
    """What serves these loads of a role, by bucket, by the job's status."""
    status, covered = role_status(job, role), ready_capacity(job, role, loads)
    written = status.loads if status else ()
    before = {each.bucket: _read(each.unserved) for each in written if each.unserved is not None}
    return {
        bucket: Serving(None if covered is None else covered * load, before.get(bucket))
        for bucket, load in loads.items()
    }


class Accounts:
    """Remembers the accounts; looks further apart than `gap` say nothing about the time between."""

    def __init__(self, gap: timedelta) -> None:
        self._gap = gap
        self._kept: dict[Hashable, _Kept] = {}

    def look(self, key: Hashable, load: float, serving: Serving, now: datetime) -> None:
        """Count the time since the last look."""
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = _Kept(_account(serving.before), now)
        seconds = (now - kept.looked).total_seconds()
        kept.looked = now
        capacity = serving.capacity
        if capacity is None or not 0 < seconds <= self._gap.total_seconds():
            return
        load = min(load, MOST_OVERLOAD * capacity)
        kept.account = kept.account.after(load * seconds, capacity * seconds, seconds)

    def share(self, key: Hashable, allowed: float) -> float:
        """The share that may be unserved from here on."""
        return self._account(key).share(allowed)

    def unserved(self, key: Hashable) -> Unserved | None:
        """What was unserved so far; None if nothing is known of it."""
        account = self._account(key)
        if account.load <= 0:
            return None
        mean = account.load / account.seconds
        return Unserved(account.unserved / account.load, mean, account.seconds)

    def _account(self, key: Hashable) -> Account:
        return self._kept[key].account if key in self._kept else Account()

    def forget(self, key: Hashable) -> None:
        """Forget one load's account."""
        self._kept.pop(key, None)

    def keep(self, keys: Iterable[Hashable]) -> None:
        """Forget all but these."""
        kept = set(keys)
        self._kept = {key: each for key, each in self._kept.items() if key in kept}


def _read(written: UnservedLoad) -> Unserved:
    share = float(written.percent) / WHOLE_PERCENT
    return Unserved(share, float(written.load), float(written.seconds))


def _account(before: Unserved | None) -> Account:
    if before is None:
        return Account()
    seconds = min(max(before.seconds, 0.0), MOST_SECONDS)
    load = max(before.load, 0.0) * seconds
    return Account(min(max(before.share, 0.0), 1.0) * load, load, seconds)
