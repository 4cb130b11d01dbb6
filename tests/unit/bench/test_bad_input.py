"""What makes no sense in a recorded file ends a benchmark, which says what and where it is."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shared_models
from plimsoll_bench import recorded
from plimsoll_bench.elastic import files as elastic_files
from plimsoll_bench.mix import profiles as mix_profiles
from plimsoll_bench.mixed_day import arrivals, replica
from plimsoll_bench.packing import lists as packing_lists
from plimsoll_bench.power import profiles as power_profiles
from plimsoll_bench.serving import rates
from plimsoll_bench.spot import series
from support.problems.recorded_files import (
    ARRIVALS,
    AZURE,
    INSTANCES,
    MOONCAKE,
    NODES,
    ORDER,
    PODS,
    POWER,
    PRICES,
    PROFILES,
    RATES,
    SERIES,
    SUPPLY,
    WINDOWS,
)
from support.programs.recorded_training import write_recording, write_workload


def _hosts(path: Path) -> object:
    return packing_lists.hosts_in(path)


def _order(path: Path) -> object:
    nodes = path.with_name("nodes.csv")
    nodes.write_text(NODES)
    return packing_lists.in_recorded_order(path, packing_lists.hosts_in(nodes))


def _arrivals(path: Path) -> object:
    pods = path.with_name("pods.csv")
    pods.write_text(PODS)
    return packing_lists.recorded_arrivals(path, packing_lists.pods_in(pods))


def _mix(path: Path) -> object:
    rows = recorded.rows_in(path, about="model")
    return mix_profiles.carried_in(rows), mix_profiles.profiles_in(rows, None)


def _prices(path: Path) -> object:
    profiles, rows_in = path.with_name("profiles.csv"), recorded.rows_in
    profiles.write_text(PROFILES)
    return mix_profiles.profiles_in(rows_in(profiles), rows_in(path))


def _services(path: Path) -> object:
    rows = recorded.rows_in(path, about="model")
    return replica.services_in(rows, "small")


def _models(path: Path) -> object:
    return [
        shared_models.instance_of(each)
        for each in recorded.objects_of(recorded.json_in(path), str(path))
    ]


READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "rates": (
        RATES,
        lambda path: power_profiles.traffic_in(path, most_burstiness=9.0),
    ),
    "power": (
        POWER,
        lambda path: power_profiles.curves_in(path, "H100", most_itl_ms=50, loaded_watts=120),
    ),
    "loads": (RATES, lambda path: rates.rates_in(path, "m")),
    "mix": (PROFILES, _mix),
    "prices": (PRICES, _prices),
    "supply": (SUPPLY, mix_profiles.supply_in),
    "services": (PROFILES, _services),
    "azure": (AZURE, lambda path: arrivals.requests_in([path], 1.0)),
    "mooncake": (
        MOONCAKE,
        lambda path: arrivals.requests_in([path], 1.0),
    ),
    "nodes": (NODES, _hosts),
    "pods": (PODS, packing_lists.pods_in),
    "order": (ORDER, _order),
    "arrivals": (ARRIVALS, _arrivals),
    "instances": (INSTANCES, _models),
    "series": (SERIES, series.series_in),
    "windows": (WINDOWS, series.windows_in),
}


JSON = {"power", "instances", "series"}


def read(name: str, folder: Path, sense: str = "", nonsense: str = "") -> object:
    """What is read of a sensible file in which one text was put in the place of another."""
    text, reader = READERS[name]
    path = folder / "file"
    assert sense in text
    path.write_text(text.replace(sense, nonsense) if sense else text)
    return reader(path)


@pytest.mark.parametrize("name", READERS)
def test_what_makes_sense_is_read(name: str, tmp_path: Path) -> None:
    assert read(name, tmp_path)


@pytest.mark.parametrize(
    ("name", "sense", "nonsense", "said"),
    [
        ("rates", "100", "nan", "line 2, model m: mean_output_tokens 'nan' is no finite number"),
        ("rates", "m,600,6", "m,600,-6", "line 3, model m: rate_rps '-6' is negative"),
        ("rates", "1.5", "", "model m: var_proxy_rate_cv2 is empty in all windows with requests"),
        ("rates", "mean_output_tokens", "x", "model m: mean_output_tokens is missing"),
        ("rates", "m,600", "m,0", "model m: two windows with requests are needed"),
        ("rates", "m,600", ",600", "line 3: model is empty"),
        ("power", "20.5", "NaN", "configurations[0], model_id llama: median_itl_ms nan is no"),
        ("power", '"num_gpus": 2', '"num_gpus": 0', "model_id llama: num_gpus 0 is no whole"),
        ("power", "1000", "0", "output_throughput_tokens_per_sec 0 is not above 0"),
        ("power", "501", "-501", "llama: avg_power_watts -501 is not above 0"),
        ("power", "501", "null", "model_id llama: avg_power_watts is empty"),
        ("power", "501", "true", "model_id llama: avg_power_watts True is no finite number"),
        ("power", "H100", "H200", "no model has 4 measurements within 50 ms between tokens"),
        ("power", "configurations", "other", "configurations is missing"),
        ("power", "[", "[[], ", "configurations[0]: is no JSON object"),
        ("power", '"configurations":', '"configurations"', "Expecting ':' delimiter"),
        ("loads", "m,600,6", "m,600,inf", "line 3, model m: rate_rps 'inf' is no finite number"),
        ("loads", "m,", "n,", "fewer than two windows of the model m"),
        ("mix", "T4,1,", "T4,0,", "line 2, model small: num_users '0' is no whole number of 1"),
        ("mix", "10,100", "-10,100", "line 2, model small: median_itl_ms '-10' is negative"),
        ("mix", "0.4", "0", "line 4, model small: price_usd_per_hour '0' is not above 0"),
        ("mix", "0.4", "", "line 4, model small: price_usd_per_hour is empty"),
        ("mix", "2 x T4", "T4", "line 4, model small: gpu 'T4' is not such as"),
        ("prices", "0.3", "nan", "line 2: price 'nan' is no finite number"),
        ("prices", "2 x T4", "3 x T4", "line 4: gpu '2 x T4' has no price"),
        ("supply", "8", "-8", "line 2, gpu T4: count '-8' is no whole number of 0 or more"),
        ("supply", "8", "8.5", "line 2, gpu T4: count '8.5' is no whole number of 0 or more"),
        ("services", "2.5", "0", "line 2, model small: throughput_req_s '0' is not above 0"),
        ("services", "99,99,2.5", "nan,99,2.5", "line 2, model small: n_requests 'nan' is no"),
        ("azure", "18:17:03", "noon", "line 2: TIMESTAMP '2023-11-16 noon.9799600' is no time"),
        ("azure", ",40", ",0", "line 2: ContextTokens '0' is no whole number of 1 or more"),
        ("mooncake", "900,50", "900,nan", "line 3: input_tokens 'nan' is no finite number"),
        ("mooncake", "timestamp_ms", "at", "line 2: timestamp_ms is missing"),
        ("nodes", "64000", "-1", "line 2, sn n-0: cpu_milli '-1' is no whole number"),
        ("nodes", ",4,", ",0,", "no node has a gpu"),
        ("pods", "470", "nan", "line 2, name p-0: gpu_milli 'nan' is no finite number"),
        ("pods", "470", "1470", "line 2, name p-0: gpu_milli '1470' does not go with num_gpu 1"),
        ("pods", "2,1000", "2,500", "line 3, name p-1: gpu_milli '500' does not go with num_gpu"),
        ("order", "n-0", "n-1", "node does not name each node of the list once"),
        ("arrivals", "p-1", "p-9", "line 2: base_pod 'p-9' is no pod of the list"),
        ("instances", "9", "0", "file[0], models[0]: slo 0 is not above 0"),
        ("instances", "24", "NaN", "file[0], models[0]: size_gb nan is no finite number"),
        ("instances", '"gpus": 1', '"gpus": -1', "file[0]: gpus -1 is no whole number of 1"),
        ("series", "[1, 0, 1]", "[1, NaN, 1]", "data[1] nan is no finite number"),
        ("series", "[1, 0, 1]", "[]", "data [] is no list of numbers, or an empty one"),
        ("series", "600", "60", "ticks are not of 600 s"),
        ("windows", "0,3,1", "-1,3,1", "line 2: start_tick '-1' is no whole number of 0 or more"),
        ("windows", "0,3,1", "0,3,0", "in_adrs_stage2_set is 1 in no row"),
    ],
)
def test_what_makes_no_sense_is_named_with_its_file_and_field(
    name: str, sense: str, nonsense: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as stopped:
        read(name, tmp_path, sense, nonsense)
    message = str(stopped.value.code)
    assert message.startswith(str(tmp_path))
    assert said in message


@pytest.mark.parametrize("name", sorted(READERS.keys() - JSON))
def test_a_file_without_rows_is_refused(name: str, tmp_path: Path) -> None:
    text, reader = READERS[name]
    path = tmp_path / "file"
    for empty in ("", f"{text.splitlines()[0]}\n"):
        path.write_text(empty)
        with pytest.raises(SystemExit, match="file: there are no rows"):
            reader(path)


def test_a_row_with_more_fields_than_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="line 2, gpu T4: there are more fields than columns"):
        read("supply", tmp_path, "T4,8", "T4,8,9")


@pytest.mark.parametrize(
    "written", [None, b"\xff\xfe", gzip.compress(b"a\n1\n" * 999, mtime=0)[:20]]
)
def test_what_cannot_be_read_is_refused(written: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "file.csv.gz"
    if written is not None:
        path.write_bytes(written)
    with pytest.raises(SystemExit, match="cannot be read"):
        recorded.rows_in(path)


TYPES = {"aws": 1.0, "rtx": 1.5, "dgx-ext": 3.0}


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("profiles/cifar10/placements-rtx.csv", (",32,", ",nan,"), "local_bsz 'nan' is no finite"),
        ("profiles/cifar10/placements-rtx.csv", ("\r\n1,", "\r\n0,"), "placement '0' is not a"),
        ("profiles/cifar10/scalability-aws.csv", ("12,32,", "12,32,-"), "is not above 0"),
        ("profiles/cifar10/validation-64.csv", ("10.0", ""), "line 2: grad_var is empty"),
        ("workload.csv", ("cifar10", "unknown"), "application 'unknown' has no profiles"),
        ("workload.csv", (",256", ",0"), "batch_size '0' is no whole number of 1 or more"),
    ],
)
def test_recordings_of_training_are_checked_before_they_are_simulated(
    file: str, change: tuple[str, str], said: str, tmp_path: Path
) -> None:
    files, profiles = elastic_files, tmp_path / "profiles"
    write_recording(profiles, speeds=TYPES)
    workload = write_workload(tmp_path / "workload.csv", [0.0, 120.0])
    files.check_workload(workload, files.applications_checked(profiles, TYPES))
    path = tmp_path / file
    text = path.read_bytes().decode()
    assert change[0] in text
    path.write_bytes(text.replace(change[0], change[1]).encode())
    with pytest.raises(SystemExit) as stopped:
        files.check_workload(workload, files.applications_checked(profiles, TYPES))
    assert str(stopped.value.code).startswith(str(path))
    assert said in str(stopped.value.code)
