from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import pytest

from plimsoll.observe.measured.gpu_faults import FRESH, GpuFault, faulty_nodes, gpu_faults, suspects
from plimsoll.observe.measured.sample import Sample
from plimsoll.observe.measured.xid import HARDWARE_XIDS
from support.clusters.seen import NOW

TARGET: Final = {"job": "dcgm-exporter", "instance": "10.0.0.1:9400"}
GPU: Final = {**TARGET, "Hostname": "n-1", "gpu": "3", "UUID": "GPU-3"}
LAST: Final = "DCGM_FI_DEV_XID_ERRORS"
OF_LATE: Final = "DCGM_EXP_XID_ERRORS_COUNT"


def moment(minutes_ago: float) -> datetime:
    return NOW - timedelta(minutes=minutes_ago)


def error(minutes_ago: float, value: float, *, metric: str = LAST, **labels: str) -> Sample:
    return Sample({"__name__": metric, **GPU, **labels}, value, moment(minutes_ago))


def scraped(*minutes_ago: float, target: Mapping[str, str] = TARGET) -> list[Sample]:
    return [Sample({"__name__": "up", **target}, 1, moment(each)) for each in minutes_ago]


def found(errors: list[Sample], scrapes: list[Sample]) -> list[tuple[int, datetime]]:
    return [(fault.xid, fault.since) for fault in gpu_faults(errors, scrapes)]


def test_an_error_that_came_is_a_fault_from_then_on() -> None:
    errors = [error(1, 79), error(0, 79)]
    assert found(errors, scraped(2, 1, 0)) == [(79, moment(1))]


def test_an_error_that_was_there_all_the_time_is_none() -> None:
    errors = [error(each, 79) for each in (2, 1, 0)]
    assert found(errors, scraped(2, 1, 0)) == []


def test_an_error_after_another_is_new() -> None:
    assert found([error(1, 31), error(0, 79)], scraped(1, 0)) == [(79, moment(0))]
    assert found([error(1, 79), error(0, 48)], scraped(1, 0)) == [(48, moment(0))]


def test_an_error_that_a_harmless_one_has_covered_still_counts() -> None:
    assert found([error(1, 48), error(0, 45)], scraped(2, 1, 0)) == [(48, moment(1))]


def test_nothing_is_known_of_times_at_which_the_exporter_was_not_scraped() -> None:
    other = {**TARGET, "instance": "10.0.0.2:9400"}
    errors = [error(1, 79), error(0, 79)]
    assert found(errors, []) == []
    assert found(errors, scraped(1, 0)) == []
    assert found(errors, scraped(2, target=other) + scraped(1, 0)) == []


def test_an_exporter_that_was_away_does_not_make_an_old_error_new() -> None:
    errors = [error(9, 79), error(1, 79), error(0, 79)]
    assert found(errors, scraped(9, 1, 0)) == []


def test_labels_of_the_pod_and_of_the_error_are_not_the_gpus() -> None:
    errors = [error(1, 79, pod="a", err_code="79"), error(0, 79, pod="b", err_code="79")]
    assert found(errors, scraped(1, 0)) == []
    assert found(errors, scraped(2, 1, 0)) == [(79, moment(1))]


def test_each_gpu_stands_for_itself() -> None:
    errors = [error(1, 79, gpu="1", UUID="GPU-1"), error(0, 79)]
    assert found(errors, scraped(1, 0)) == [(79, moment(0))]


def test_the_recent_count_has_each_error_by_its_label() -> None:
    errors = [
        error(0, 2, metric=OF_LATE, xid="79"),
        error(0, 1, metric=OF_LATE, xid="45"),
        error(0, 79, metric=OF_LATE, xid=""),
    ]
    assert found(errors, scraped(1, 0)) == [(79, moment(0))]


@pytest.mark.parametrize("xid", [13, 31, 43, 45, 63, 92, 94])
def test_errors_of_the_application_never_count(xid: int) -> None:
    assert found([error(0, xid)], scraped(1, 0)) == []
    assert suspects([error(0, xid)]) == set()


@pytest.mark.parametrize("xid", [48, 62, 64, 74, 79, 95, 119, 120, 140])
def test_errors_of_the_hardware_count(xid: int) -> None:
    [fault] = gpu_faults([error(0, xid)], scraped(1, 0))
    assert str(fault) == f"XID {xid} of GPU 3 (GPU-3): {HARDWARE_XIDS[xid]}"
    assert suspects([error(0, xid)]) == {("dcgm-exporter", "10.0.0.1:9400")}


def a_fault(xid: int = 79, minutes_ago: float = 0, **labels: str) -> GpuFault:
    return GpuFault({"gpu": "0", **labels}, xid, moment(minutes_ago))


@pytest.mark.parametrize(
    ("labels", "node"),
    [
        ({"Hostname": "n-1"}, "n-1"),
        ({"node": "n-2", "Hostname": "n-1"}, "n-2"),
        ({"node": "elsewhere", "Hostname": "n-1"}, "n-1"),
        ({"kubernetes_node": "n-1", "instance": "10.0.0.1:9400"}, "n-1"),
        ({"instance": "n-2:9400"}, "n-2"),
        ({"Hostname": "dcgm-exporter-x7z", "instance": "10.0.0.1:9400"}, None),
        ({"pod": "n-1"}, None),
        ({}, None),
    ],
)
def test_the_first_label_that_names_a_node_is_where_it_is(
    labels: Mapping[str, str], node: str | None
) -> None:
    broken = faulty_nodes([GpuFault(labels, 79, NOW)], ["n-1", "n-2"], NOW)
    assert list(broken) == ([node] if node else [])


def test_what_broke_long_ago_counts_no_more() -> None:
    just = FRESH.total_seconds() / 60
    assert faulty_nodes([a_fault(minutes_ago=just, node="n")], ["n"], NOW) == {}
    assert faulty_nodes([a_fault(minutes_ago=just - 0.1, node="n")], ["n"], NOW) != {}


def test_a_node_says_what_broke_there_but_not_all_of_a_long_list() -> None:
    both = faulty_nodes([a_fault(node="n"), a_fault(node="n"), a_fault(74, node="n")], ["n"], NOW)
    assert both == {
        "n": "XID 79 of GPU 0: it has fallen off the bus; XID 74 of GPU 0: an NVLink failed"
    }
    all_of_it = [a_fault(xid, node="n") for xid in (46, 48, 62, 64, 74)]
    assert faulty_nodes(all_of_it, ["n"], NOW)["n"].endswith("; and 2 more")


@pytest.mark.parametrize(
    "xid", ["7" * 5000, "0" * 5000 + "79", "٧٩", "²", "-79", "79.0", " 79", "NaN", ""]
)
def test_a_label_that_is_no_xid_is_no_fault_and_hides_none(xid: str) -> None:
    odd = [error(0, 1, metric=OF_LATE, xid=xid, UUID="GPU-4")]
    true = [error(0, 1, metric=OF_LATE, xid="79")]
    assert not suspects(odd)
    assert found([*odd, *true], scraped(1, 0)) == [(79, moment(0))]


def test_a_series_without_any_label_is_no_fault() -> None:
    bare = Sample({}, 79, moment(0))
    assert found([bare], [*scraped(1, 0), Sample({}, 1, moment(1))]) == [(79, moment(0))]
    assert faulty_nodes([GpuFault({}, 79, NOW)], ["n-1"], NOW) == {}


def test_a_name_without_end_is_shortened() -> None:
    fault = GpuFault({**GPU, "gpu": "x" * 5000}, 79, NOW)
    assert len(str(fault)) < 200
