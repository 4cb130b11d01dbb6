"""What it takes to keep both objectives of a service with prefill and decode, by the operator.

    python bench/phases.py --requests conv.csv.gz --json

The files are played one after the other at `--speed` times their rate, each request `--copies`
times within ten seconds. Replicas are queues whose speed is known here and not to the operator
(`plimsoll_bench/phases/engines.py`); it is told profiles that are wrong by `--stated`, sees what a
Prometheus would have scraped, and decides as always (`plimsoll_bench/phases/choosing.py`). What
comes before `--warm-up` is not scored.

`best_fixed` are the fewest replicas of each phase that keep both objectives when they never change,
found by trying them. `slow_prefill` is the same with prefill at half its speed, for what decode
takes then.
"""

import argparse
import asyncio
import random
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from plimsoll_bench.mixed_day.arrivals import requests_in
from plimsoll_bench.mixed_day.replica import Request
from plimsoll_bench.output import print_json
from plimsoll_bench.phases.choosing import Choosing, Terms, service_of
from plimsoll_bench.phases.engines import Truth
from plimsoll_bench.phases.fleet import DECODE, PREFILL, ROLES, Fleet, Promise, Score, score

FAST, SLOW = "fast", "slow"
JITTER_SECONDS = 10.0
MOST_FIXED = 256
POWERS = (1, 2, 4, 8, 16, 32, 64, 128, MOST_FIXED)
HOUR_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Task:
    """Requests, the truth about replicas, and what is promised and scored.

    `fast`: how many replicas of a role the fast type has room for; the others are slow.
    """

    requests: Sequence[Request]
    truths: dict[str, Truth]
    promise: Promise
    warm_up: float
    start_seconds: float
    fast: int
    stated: float

    @property
    def end(self) -> float:
        """When the last request comes."""
        return self.requests[-1].arrives

    def kind(self, fleet: Fleet, role: str) -> str:
        """The type of a role's next replica."""
        mine = sum(each.role == role and each.gpu_type == FAST for each in fleet.replicas)
        return FAST if mine < self.fast else SLOW


@dataclass(frozen=True, slots=True)
class Run:
    """How a run went."""

    score: Score
    hours: dict[str, float]

    @property
    def gpu_hours(self) -> float:
        """The GPU-hours of both phases."""
        return sum(self.hours.values())


class _Play:
    """Plays a task's requests by steps."""

    def __init__(self, task: Task, fleet: Fleet) -> None:
        self._task, self._fleet, self._at = task, fleet, 0
        self._before: dict[str, float] | None = None

    def until(self, until: float) -> None:
        """Serve what comes until then."""
        requests, fleet = self._task.requests, self._fleet
        last = bisect_left(requests, until, key=lambda request: request.arrives)
        fleet.serve(requests[self._at : last], until)
        self._at = last
        if self._before is None and until >= self._task.warm_up:
            self._before = dict(fleet.seconds)

    def run(self) -> Run:
        """How it went."""
        before, fleet = self._before or {}, self._fleet
        hours = {
            role: (seconds - before.get(role, 0.0)) / HOUR_SECONDS
            for role, seconds in fleet.seconds.items()
        }
        fleet.serve((), self._task.end + HOUR_SECONDS)
        return Run(score(fleet.served, self._task.promise, self._task.warm_up), hours)


def fixed(task: Task, counts: dict[str, int]) -> Run:
    """A run with counts that never change."""
    fleet = Fleet(task.truths, task.start_seconds)
    for role, count in counts.items():
        for _ in range(count):
            fleet.add(role, task.kind(fleet, role), ready=True)
    play = _Play(task, fleet)
    play.until(task.warm_up)
    play.until(task.end)
    return play.run()


def best_fixed(task: Task) -> tuple[dict[str, int], Run]:
    """The fewest replicas of prefill that keep its objective, and then of decode."""
    least = 100 * task.promise.share
    counts: dict[str, int] = dict.fromkeys(ROLES, 1)

    def fewest(role: str, kept: Callable[[Score], float]) -> int:
        def kept_by(count: int) -> float:
            return min(kept(fixed(task, counts | {role: count}).score), least)

        most = next((n for n in POWERS if kept_by(n) >= least), None)
        if most is None:
            raise SystemExit(f"{POWERS[-1]} replicas of {role} cannot keep its objective")
        tried = range(1, most + 1)
        return tried[bisect_left(tried, least, lo=most // 2, key=kept_by)]

    counts[PREFILL] = fewest(PREFILL, lambda score: score.first_token_percent)
    counts[DECODE] = fewest(DECODE, lambda score: score.output_token_percent)
    return counts, fixed(task, counts)


async def chosen(task: Task, terms: Terms, scrape_seconds: float) -> tuple[Run, Choosing]:
    """A run in which the operator chooses."""
    fleet = Fleet(task.truths, task.start_seconds)
    promise = task.promise
    stated = {
        PREFILL: {k: task.stated * t.prompt_tokens_per_second for k, t in task.truths.items()},
        DECODE: {
            k: task.stated * t.decode_tokens_per_second(promise.output_token)
            for k, t in task.truths.items()
        },
    }
    for role in ROLES:
        fleet.add(role, task.kind(fleet, role), ready=True)
    choosing = Choosing(fleet, service_of(stated, promise, terms), terms, task.kind, scrape_seconds)
    play, at, looked = _Play(task, fleet), 0.0, 0.0
    while at < task.end:
        at = min(at + scrape_seconds, task.end)
        play.until(at)
        choosing.scrapes.scrape()
        if at - looked >= terms.look_seconds:
            looked = at
            await choosing.look()
    return play.run(), choosing


def copied(requests: Sequence[Request], copies: int) -> list[Request]:
    """Each request so many times, the copies up to ten seconds later."""
    rng = random.Random(copies)
    found = [
        replace(each, arrives=each.arrives + (rng.uniform(0, JITTER_SECONDS) if copy else 0.0))
        for each in requests
        for copy in range(copies)
    ]
    return sorted(found, key=lambda request: request.arrives)


def played(paths: Sequence[Path], speed: float) -> list[Request]:
    """The requests of the files, one after the other."""
    found: list[Request] = []
    for path in paths:
        begin = found[-1].arrives if found else 0.0
        mine = requests_in([path], speed)
        found += [replace(each, arrives=begin + each.arrives) for each in mine]
    return found


def task_of(arguments: argparse.Namespace) -> Task:
    """The task that the command line describes."""
    requests = copied(played(arguments.requests, arguments.speed), arguments.copies)
    if requests[-1].arrives <= arguments.warm_up:
        raise SystemExit(
            f"--warm-up {arguments.warm_up:g}: the last request comes at"
            f" {requests[-1].arrives:.0f} s, so that nothing is scored"
        )
    fast = Truth(
        arguments.prompt_tokens_per_second,
        arguments.step_ms / 1000,
        arguments.step_growth_ms / 1000,
        arguments.most_running,
    )
    if fast.step_seconds + fast.step_growth > arguments.time_per_output_token:
        raise SystemExit("--time-per-output-token: a single request already takes longer")
    truths, most = {FAST: fast}, MOST_FIXED
    if arguments.fast is not None:
        truths[SLOW] = slower(fast, arguments.slow)
        most = arguments.fast
    promise = Promise(arguments.time_to_first_token, arguments.time_per_output_token)
    return Task(
        requests,
        truths,
        promise,
        arguments.warm_up,
        arguments.start,
        most,
        arguments.stated,
    )


def slower(truth: Truth, times: float) -> Truth:
    """A GPU type on which everything takes so many times as long."""
    return replace(
        truth,
        prompt_tokens_per_second=truth.prompt_tokens_per_second / times,
        step_seconds=truth.step_seconds * times,
        step_growth=truth.step_growth * times,
    )


def with_slow_prefill(task: Task) -> Task:
    """The task with prefill at half its speed; its profile is what it was."""
    truths = {
        kind: replace(truth, prompt_tokens_per_second=truth.prompt_tokens_per_second / 2)
        for kind, truth in task.truths.items()
    }
    return replace(task, truths=truths)


def figures(arguments: argparse.Namespace) -> dict[str, object]:
    """What the benchmark prints."""
    task = task_of(arguments)
    terms = Terms(
        arguments.look, arguments.window, arguments.horizon, arguments.quantile, arguments.down
    )
    run, choosing = asyncio.run(chosen(task, terms, arguments.scrape))
    slow, _ = asyncio.run(chosen(with_slow_prefill(task), terms, arguments.scrape))
    counts, best = best_fixed(task)
    return {
        "ttft_attainment_percent": run.score.first_token_percent,
        "tpot_attainment_percent": run.score.output_token_percent,
        "gpu_hours": run.gpu_hours,
        "prefill_gpu_hours": run.hours[PREFILL],
        "decode_gpu_hours": run.hours[DECODE],
        "best_fixed": counts,
        "best_fixed_gpu_hours": best.gpu_hours,
        "ratio": run.gpu_hours / best.gpu_hours,
        "slow_prefill": {
            "ttft_attainment_percent": slow.score.first_token_percent,
            "tpot_attainment_percent": slow.score.output_token_percent,
            "prefill_gpu_hours": slow.hours[PREFILL],
            "decode_gpu_hours": slow.hours[DECODE],
            "decode_ratio": slow.hours[DECODE] / run.hours[DECODE],
        },
        "measured": {
            role.name: {each.type: float(each.load) for each in role.measured}
            for role in choosing.job.status.roles
        },
        "requests": len(task.requests),
    }


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e9:  # noqa: PLR2004 - infinity and nonsense
        raise argparse.ArgumentTypeError(f"{text} is no number above 0")
    return value


def _whole(text: str) -> int:
    value = int(text)
    if not 0 < value < 10_000:  # noqa: PLR2004 - nonsense
        raise argparse.ArgumentTypeError(f"{text} is no whole number from 1 to 9999")
    return value


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    add = parser.add_argument
    add("--requests", type=Path, required=True, nargs="+")
    add("--speed", type=_positive, default=1.0)
    add("--copies", type=_whole, default=4)
    add("--warm-up", type=_positive, default=900.0, help="seconds")
    add("--start", type=_positive, default=60.0, help="seconds until a replica serves")
    add("--stated", type=_positive, default=1.5, help="profiles over the truth")
    add("--prompt-tokens-per-second", type=_positive, default=4000.0)
    add("--step-ms", type=_positive, default=20.0)
    add("--step-growth-ms", type=_positive, default=0.5)
    add("--most-running", type=_whole, default=256)
    add("--time-to-first-token", type=_positive, default=2.5, help="seconds")
    add("--time-per-output-token", type=_positive, default=0.05, help="seconds")
    add("--fast", type=_whole, help="replicas of a role on fast GPUs; others are on slow ones")
    add("--slow", type=_positive, default=2.0, help="how many times as slow those are")
    add("--look", type=_whole, default=15, help="seconds between looks")
    add("--scrape", type=_positive, default=15.0, help="seconds")
    add("--window", type=_whole, default=60, help="seconds that a look reaches back")
    add("--horizon", type=_positive, default=120.0, help="seconds")
    add("--quantile", type=_positive, help="of the forecast; that of the promise if none is given")
    add("--down", type=_positive, default=120.0, help="seconds")
    add("--json", action="store_true", help="one line instead of several")
    arguments = parser.parse_args()
    print_json(figures(arguments), indent=None if arguments.json else 2)


if __name__ == "__main__":
    main()
