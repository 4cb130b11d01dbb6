import math
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from plimsoll.acting.conditions.progress import progressed, without_rate
from plimsoll.api.parts.progress import Progress
from plimsoll.api.training_job import TrainingJobStatus
from plimsoll.api.values.quantities import quantity_text
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, a_report, at, pods_of, seen
from support.objects.job_manifests import a_training_job

START = NOW - timedelta(seconds=100)
WORK: Manifest = {"amount": 1000, "unit": "samples"}
MINUTE = timedelta(minutes=1)


def a_job(*, work: Manifest | None = WORK, **status: Any) -> Manifest:  # noqa: ANN401
    job = a_training_job("train", workers=2, work=work)
    return at(job, "n-0", "n-0", **{"startedTime": START.isoformat(), **status})


def after(
    job: Manifest,
    *,
    at: datetime = NOW,
    phase: str = "Running",
    **said: Any,  # noqa: ANN401 - what worker 0 says
) -> TrainingJobStatus:
    """The status once worker 0 has said this."""
    pods = pods_of(job, phase=phase)
    [view] = seen(job, *pods, reports=[a_report(pods[0], at=at, **said)] if said else []).jobs
    assert view.training is not None
    return progressed(view, view.training)


def again(status: TrainingJobStatus) -> Manifest:
    return {**a_job(), "status": status.wire()}


def progress_of(status: TrainingJobStatus) -> Progress:
    assert status.progress is not None
    return status.progress


def test_a_rate_under_a_power_cap_is_not_taken_for_that_of_the_gpu_type() -> None:
    [view] = seen(
        job := a_job(),
        *(pods := pods_of(job)),
        reports=[a_report(pods[0], done=Decimal(509), rate=Decimal(5))],
    ).jobs
    assert view.training is not None
    free = progressed(view, view.training)
    capped = progressed(view, view.training, capped=True)
    assert [each.rate for each in free.measured] == [5]
    assert capped.measured == ()
    assert progress_of(capped) == progress_of(free)


def test_a_silent_job_says_nothing_of_its_progress() -> None:
    assert after(a_job()).progress is None


def test_what_is_done_is_reported_as_a_share_and_when_the_rest_will_be() -> None:
    status = after(a_job(), done=Decimal(509), rate=Decimal(5))
    progress = progress_of(status)
    assert (progress.done, progress.unit, progress.percent) == (509, "samples", 50)
    assert progress.reported_time == NOW
    assert status.expected_completion == NOW + timedelta(seconds=98)


def test_work_of_which_nobody_said_how_much_it_is_has_no_end() -> None:
    status = after(a_job(work=None), done=Decimal(509), rate=Decimal(5))
    assert progress_of(status).percent is None
    assert status.expected_completion is None


def test_more_than_all_is_a_hundred_percent() -> None:
    status = after(a_job(), done=Decimal(1001), rate=Decimal("1e-9"))
    assert progress_of(status).percent == 100
    assert status.expected_completion == NOW


def test_a_rate_of_next_to_nothing_has_an_end_that_can_be_written() -> None:
    status = after(a_job(), done=Decimal(1), rate=Decimal("1e-9"))
    assert status.expected_completion == NOW + timedelta(days=36_500)


def test_progress_is_written_once_a_minute() -> None:
    first = after(a_job(), done=Decimal(1))
    soon = after(again(first), at=NOW + MINUTE / 2, done=Decimal(2))
    assert soon == first
    later = after(again(first), at=NOW + MINUTE, done=Decimal(2))
    assert progress_of(later).done == 2


def test_a_checkpoint_is_written_at_once_and_once() -> None:
    first = after(a_job(), done=Decimal(1))
    soon = NOW + timedelta(seconds=5)
    saved = after(again(first), at=soon, done=Decimal(3), saved=Decimal(2), saved_at=NOW)
    progress = progress_of(saved)
    assert (progress.done, progress.saved_done, progress.last_checkpoint) == (3, 2, NOW)
    wavering = NOW + timedelta(seconds=1)
    same = after(again(saved), at=soon, done=Decimal(4), saved=Decimal(2), saved_at=wavering)
    assert same == saved


def test_a_gang_that_starts_anew_keeps_its_last_checkpoint_until_there_is_another() -> None:
    saved = after(a_job(), done=Decimal(3), saved=Decimal(2), saved_at=NOW)
    progress = progress_of(after(again(saved), at=NOW + MINUTE, done=Decimal(2)))
    assert (progress.done, progress.saved_done, progress.last_checkpoint) == (2, 2, NOW)


def test_the_last_word_of_a_job_that_is_over_is_written_at_once() -> None:
    first = after(a_job(), done=Decimal(999))
    over = after(again(first), at=NOW + MINUTE / 2, phase="Succeeded", done=Decimal(1000))
    assert progress_of(over).percent == 100


def test_a_rate_is_measured_for_as_long_as_it_was_so() -> None:
    first = after(a_job(), rate=Decimal(4))
    [measured] = first.measured
    assert (measured.type, measured.workers) == (H100, 2)
    assert (measured.rate, measured.seconds) == (4, 100)
    [merged] = after(again(first), at=NOW + MINUTE, rate=Decimal(8)).measured
    assert (merged.rate, merged.seconds) == (Decimal("5.5"), 160)


def test_what_was_measured_for_hours_still_gives_way_to_what_is_so_now() -> None:
    long = {"type": H100, "workers": 2, "rate": 1, "seconds": 10**6}
    job = a_job(measured=[long], progress={"reportedTime": (NOW - MINUTE).isoformat()})
    [merged] = after(job, rate=Decimal(62)).measured
    assert merged.rate == 2
    assert merged.seconds == 10**6 + 60


def test_other_types_and_sizes_are_measured_apart() -> None:
    other = {"type": A100, "workers": 2, "rate": 1, "seconds": 5}
    status = after(a_job(measured=[other]), rate=Decimal(4))
    assert [(each.type, each.rate) for each in status.measured] == [(A100, 1), (H100, 4)]


def test_of_too_many_measurements_the_shortest_goes() -> None:
    full = [{"type": A100, "workers": n, "rate": 1, "seconds": 100 + n} for n in range(1, 65)]
    status = after(a_job(measured=full), rate=Decimal(4))
    assert len(status.measured) == 64
    assert min(each.workers for each in status.measured if each.type == A100) == 2


def test_nothing_is_measured_before_the_whole_gang_is_up() -> None:
    assert after(a_job(startedTime=None), rate=Decimal(4)).measured == ()


def test_numbers_are_short_enough_to_be_written() -> None:
    status = after(a_job(), rate=Decimal(1) / 3)
    assert progress_of(status).rate == Decimal("0.333333")
    [merged] = after(again(status), at=NOW + MINUTE, rate=Decimal(2) / 3).measured
    assert quantity_text(merged.rate) == "0.458333"


def test_a_job_that_moves_keeps_what_is_done_and_not_how_fast() -> None:
    status = without_rate(after(a_job(), done=Decimal(5), rate=Decimal(5)))
    assert progress_of(status).done == 5
    assert progress_of(status).rate is None
    assert status.expected_completion is None


def test_work_that_is_done_again_is_counted_as_lost() -> None:
    before = after(a_job(), done=Decimal(500), saved=Decimal(400), saved_at=START)
    resumed = after(again(before), at=NOW + MINUTE, done=Decimal(400))
    assert (progress_of(before).lost, progress_of(resumed).lost) == (0, 100)
    on = after(again(resumed), at=NOW + 2 * MINUTE, done=Decimal(450))
    assert progress_of(on).lost == 100


def test_the_last_word_of_a_gang_that_ends_is_written_at_once() -> None:
    before = after(a_job(), done=Decimal(500))
    soon = NOW + timedelta(seconds=5)
    assert progress_of(after(again(before), at=soon, done=Decimal(510))).done == 500
    ended = after(again(before), at=soon, phase="Failed", done=Decimal(510))
    assert progress_of(ended).done == 510


def test_samples_that_bring_less_count_less() -> None:
    """A size at which the batch is too large for its own good is measured as slow."""
    plain = after(a_job(), done=Decimal(500), rate=Decimal(10))
    inefficient = after(a_job(), done=Decimal(500), rate=Decimal(10), efficiency=0.6)
    assert [float(each.rate) for each in plain.measured] == [10]
    assert [float(each.rate) for each in inefficient.measured] == [6]
    assert progress_of(inefficient).rate == 10


def with_batch(size: int) -> Manifest:
    """A job whose workers found this batch when they started."""
    job = a_job()
    job["spec"]["batch"] = {"size": 100, "maxSize": 1000}
    job["status"]["placement"]["batch"] = {"size": size, "local": size // 2, "accumulation": 1}
    return job


def test_rates_are_kept_by_batch() -> None:
    job = with_batch(400)
    slow = {"type": H100, "workers": 2, "rate": "1", "seconds": 100}
    job["status"]["measured"] = [{**slow, "batch": 100}, {**slow, "batch": 400}]
    other, this = after(job, rate=Decimal(9)).measured
    assert (other.batch, other.rate) == (100, 1)
    assert (this.batch, this.rate) == (400, 5)


def test_a_batch_that_workers_are_still_changing_to_is_not_measured() -> None:
    """They change it one after the other, and what they last measured is of the one before."""
    job = with_batch(400)
    behind = after(job, done=Decimal(500), rate=Decimal(10), batch=200)
    assert (behind.measured, progress_of(behind).batch) == ((), 200)
    arrived = after(job, done=Decimal(500), rate=Decimal(10), batch=400)
    assert [each.batch for each in arrived.measured] == [400]
    pods = pods_of(job)
    apart = [a_report(pods[0], rate=Decimal(10), batch=200), a_report(pods[1], batch=400)]
    [view] = seen(job, *pods, reports=apart).jobs
    assert view.training is not None
    both = progressed(view, view.training)
    assert (both.measured, progress_of(both).batch) == ((), None)


def test_a_rate_in_samples_says_how_long_a_step_takes() -> None:
    [measured] = after(with_batch(400), done=Decimal(500), rate=Decimal(10)).measured
    assert (measured.step_seconds, measured.nodes, measured.accumulation) == (40, 1, 1)


def test_where_work_counts_something_else_the_step_time_is_as_reported() -> None:
    job = with_batch(400)
    job["spec"]["work"] = {**WORK, "unit": "tokens"}
    [unknown] = after(job, done=Decimal(500), rate=Decimal(10)).measured
    assert unknown.step_seconds is None
    [said] = after(job, done=Decimal(500), rate=Decimal(10), step_seconds=3.5).measured
    assert said.step_seconds == Decimal("3.5")


def test_the_first_rate_of_a_gang_is_written_at_once() -> None:
    """Plans wait for it: the job cannot be judged at other sizes before."""
    seconds = timedelta(seconds=20)
    begun = after(a_job(), done=Decimal(500))
    known = after(again(begun), at=NOW + seconds, done=Decimal(510), rate=Decimal(9))
    assert progress_of(known).rate == 9
    same = after(again(known), at=NOW + 2 * seconds, done=Decimal(520), rate=Decimal(8))
    assert progress_of(same).rate == 9


def test_by_the_noise_of_gradients_samples_of_a_large_batch_count_less() -> None:
    """(300 + 100) / (300 + 500): a sample brings half of what it brings at the smallest batch."""
    said: dict[str, Any] = {"done": Decimal(900), "rate": Decimal(8), "gradient_noise": 300.0}
    status = after(with_batch(500), **said)
    assert status.progress is not None
    assert status.progress.gradient_noise == 300
    assert [each.rate for each in status.measured] == [4]
    status = after(with_batch(500), **said, efficiency=0.25)
    assert [each.rate for each in status.measured] == [2], "what is reported goes before"


def test_the_noise_of_gradients_stays_known_when_it_is_not_said_again() -> None:
    job = a_job(progress={"done": 1, "gradientNoise": 300})
    status = after(job, done=Decimal(900))
    assert status.progress is not None
    assert status.progress.gradient_noise == 300


@pytest.mark.parametrize("figure", ["efficiency", "gradient_noise"])
@pytest.mark.parametrize("value", [1e30, 1e308, math.inf, 5e-324, 0.0])
def test_a_figure_out_of_all_proportion_harms_nobody(figure: str, value: float) -> None:
    job = a_job()
    job["spec"]["batch"] = {"size": 64}
    job["status"]["placement"]["batch"] = {"size": 64, "local": 32, "accumulation": 1}
    said: Any = {figure: value}
    status = after(job, done=Decimal(10), rate=Decimal(10) ** 18, **said)
    assert progress_of(status).done == 10
    figures = [*(each.rate for each in status.measured), progress_of(status).gradient_noise]
    assert all(each is None or each <= Decimal(10) ** 18 for each in figures)
    TrainingJobStatus.model_validate(status.wire())


def test_work_that_is_lost_again_and_again_is_counted_up_to_a_bound() -> None:
    most = Decimal(10) ** 18
    job = a_job(progress={"done": str(most), "lost": str(most)})
    assert progress_of(after(job, done=Decimal(0))).lost == most
