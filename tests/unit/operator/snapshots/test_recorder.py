"""Recording keeps nobody waiting and survives what goes wrong."""

from pathlib import Path

from prometheus_client import REGISTRY

from plimsoll.snapshots.recorder import Recorder, RecordingTerms
from plimsoll.snapshots.writing import Moment
from plimsoll_devcluster.fake_nodes import fake_node
from support.clusters.seen import objects_of
from support.clusters.snapshot_files import planned
from support.programs.asynchronous import asynchronous


def a_moment() -> Moment:
    return planned(objects_of(fake_node("n-0")))


def counted(result: str) -> float:
    return REGISTRY.get_sample_value("plimsoll_snapshots_total", {"result": result}) or 0.0


@asynchronous
async def test_nothing_is_recorded_without_a_folder() -> None:
    before = counted("Written"), counted("Failed")
    recorder = Recorder(None)
    recorder.record(a_moment())
    await recorder.close()
    assert (counted("Written"), counted("Failed")) == before


@asynchronous
async def test_what_comes_too_soon_is_not_recorded(tmp_path: Path) -> None:
    before = counted("Written")
    recorder = Recorder(tmp_path, RecordingTerms(every_seconds=3600))
    recorder.record(a_moment())
    await recorder.close()
    recorder.record(a_moment())
    await recorder.close()
    assert counted("Written") == before + 1


@asynchronous
async def test_a_folder_that_is_not_there_is_counted_and_harms_nobody(tmp_path: Path) -> None:
    before = counted("Failed")
    recorder = Recorder(tmp_path / "none", RecordingTerms(every_seconds=0))
    for _ in range(2):
        recorder.record(a_moment())
        await recorder.close()
    assert counted("Failed") == before + 2
