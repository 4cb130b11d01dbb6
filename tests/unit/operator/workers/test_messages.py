from decimal import Decimal

import pytest

from plimsoll.errors import BadReport
from plimsoll.workers.messages import Report, decoded


def test_a_report_needs_nothing_but_its_job() -> None:
    assert decoded(b'{"job": "train"}') == Report(job="train")


def test_numbers_are_read_exactly() -> None:
    report = decoded(b'{"job": "train", "done": 0.1, "saved": 3, "savedSecondsAgo": 2.5}')
    assert (report.done, report.saved) == (Decimal("0.1"), Decimal(3))


def test_what_a_newer_worker_adds_is_passed_over() -> None:
    assert decoded(b'{"job": "train", "mood": "good"}') == Report(job="train")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", "docs/guides/training.md"),
        (b"[]", "docs/guides/training.md"),
        (b"{}", "job"),
        (b'{"job": "train", "done": -1}', "done"),
        (b'{"job": "train", "done": "NaN"}', "done"),
        (b'{"job": "train", "done": true}', "done"),
        (b'{"job": "train", "rate": 1e19}', "rate"),
        (b'{"job": "train", "saved": 1}', "savedSecondsAgo"),
        (b'{"job": "train", "saved": 1, "savedSecondsAgo": -1}', "savedSecondsAgo"),
        (b'{"job": "train", "gradientNoise": -0.5}', "gradientNoise"),
        (b'{"job": "train", "computeSeconds": -1}', "computeSeconds"),
        (b'{"job": "train", "stepSeconds": "long"}', "stepSeconds"),
        (b'{"job": "train", "acknowledged": 7}', "acknowledged"),
        (b'{"job": "train", "gradientNoise": 1e30}', "<= 10{15}.*gradientNoise"),
        (b'{"job": "train", "efficiency": 1e30}', "<= 1000.*efficiency"),
        (b'{"job": "train", "computeSeconds": 1e30}', "<= 10{9}.*computeSeconds"),
        (b'{"job": "train", "stepSeconds": 1e308}', "<= 10{9}.*stepSeconds"),
        (b'{"job": "train", "saved": 1, "savedSecondsAgo": 1e30}', "<= 10{9}.*savedSecondsAgo"),
        (b'{"job": "train", "efficiency": 1e400}', "efficiency"),
        (b'{"job": "train", "done": 1e999999999}', "done"),
        (b'{"job": "train", "done": %s}' % (b"9" * 4000), "done"),
        (b'{"job": "train", "rate": "Infinity"}', "rate"),
        (b'{"job": "\xff"}', "docs/guides/training.md"),
        (b'{"job": "train", "x": %s' % (b"[" * 4000), "docs/guides/training.md"),
    ],
)
def test_a_report_that_is_wrong_is_refused_by_the_name_of_its_field(
    body: bytes, field: str
) -> None:
    with pytest.raises(BadReport, match=field):
        decoded(body)
