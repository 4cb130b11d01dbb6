"""The inputs of `mix.py`: how many users a model carries on which GPUs, prices, supply, demand.

Profiles are CSV, one row for each model, GPU profile ("2 x A100": two of a type) and number of
users, with the columns model, gpu, num_users, median_nttft_ms_per_input_tok, median_itl_ms and, if
no prices are given, price_usd_per_hour. A replica carries the last number of users before the first
at which it takes more than 100 ms to the first token for each token of input, or 50 ms between
tokens. Other models are drawn from the recorded ones: in turn, each number of users times a factor
between 0.7 and 1.4.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from plimsoll_bench.recorded import Row, rows_in
from plimsoll_placement.estimate.mix.problem import MixProblem, Model, ModelName, Option, PoolName

FIRST_TOKEN_MS = 100.0
BETWEEN_TOKENS_MS = 50.0
LEAST_FACTOR, MOST_FACTOR = 0.7, 1.4

Carried = dict[str, dict[str, int]]
"""The users that a replica carries, by model and GPU profile; those that carry none are absent."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A GPU profile: the number of GPUs, their type, and the price per hour."""

    name: str
    microdollars: int

    @property
    def gpus(self) -> int:
        """The GPUs of a replica."""
        return int(self.name.split(" x ")[0])

    @property
    def gpu_type(self) -> str:
        """The GPU type, without the number."""
        return self.name.split(" x ")[1]


def carried_in(rows: Sequence[Row]) -> Carried:
    """The most users of each model on each profile within the SLO."""
    levels: dict[tuple[str, str], dict[int, bool]] = defaultdict(dict)
    for row in rows:
        users = row.whole("num_users", least=1)
        levels[row.text("model"), row.text("gpu")][users] = _is_within(row)
    carried: Carried = {model: {} for model, _ in levels}
    for (model, gpu), within in levels.items():
        users = _last_before_a_violation(within)
        if users:
            carried[model][gpu] = users
    return carried


def _is_within(row: Row) -> bool:
    limits = {"median_nttft_ms_per_input_tok": FIRST_TOKEN_MS, "median_itl_ms": BETWEEN_TOKENS_MS}
    known = [row.known(field) and row.number(field) <= most for field, most in limits.items()]
    return all(known)


def _last_before_a_violation(within: Mapping[int, bool]) -> int:
    users = 0
    for level in sorted(within):
        if not within[level]:
            return users
        users = level
    return users


def profiles_in(rows: Sequence[Row], prices: Sequence[Row] | None) -> dict[str, Profile]:
    """The GPU profiles by name, with the prices of a list (GPU, price) or of the rows."""
    if prices is None:
        return dict(_profile(row, "gpu", "price_usd_per_hour") for row in rows)
    found = dict(_profile(row, "GPU", "price") for row in prices)
    for row in rows:
        if row.text("gpu") not in found:
            raise row.wrong("gpu", "has no price")
    return found


def _profile(row: Row, name: str, price: str) -> tuple[str, Profile]:
    profile = row.text(name)
    if not re.fullmatch(r"[1-9]\d* x \S.*", profile):
        raise row.wrong(name, 'is not such as "2 x A100"')
    return profile, Profile(profile, round(row.positive(price) * 1e6))


def supply_in(path: Path) -> dict[PoolName, int]:
    """Single GPUs of each type."""
    return {PoolName(row.text("gpu")): row.whole("count") for row in rows_in(path, about="gpu")}


def drawn(carried: Carried, models: int, seed: int) -> Carried:
    """This many models like the recorded ones."""
    random = Random(seed)
    names = sorted(carried)
    return {
        f"{names[place % len(names)]}/{place // len(names)}": {
            gpu: max(1, round(users * random.uniform(LEAST_FACTOR, MOST_FACTOR)))
            for gpu, users in carried[names[place % len(names)]].items()
        }
        for place in range(models)
    }


def problem_of(
    carried: Carried,
    profiles: Mapping[str, Profile],
    users: Mapping[str, int],
    supply: Mapping[PoolName, int],
) -> MixProblem:
    """The mix problem, with one bucket per model and options in the order of the profiles."""
    return MixProblem(
        tuple(
            Model(
                ModelName(name),
                (users[name],),
                tuple(
                    Option(
                        PoolName(profiles[gpu].gpu_type),
                        profiles[gpu].gpus,
                        profiles[gpu].microdollars,
                        (most,),
                    )
                    for gpu, most in by_gpu.items()
                ),
            )
            for name, by_gpu in carried.items()
        ),
        supply,
    )
