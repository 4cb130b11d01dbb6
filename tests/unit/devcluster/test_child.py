from pathlib import Path

from plimsoll_devcluster.processes.child import Child
from plimsoll_devcluster.waiting import wait_until


def test_a_child_logs_both_of_its_streams(tmp_path: Path) -> None:
    child = Child(["/bin/sh", "-c", "echo said; echo complained >&2"], tmp_path / "log")
    wait_until(lambda: not child.is_running(), timeout_seconds=10, what="the child has ended")
    assert child.log_tail() == "said\ncomplained"


def test_the_tail_of_a_long_log_is_its_end(tmp_path: Path) -> None:
    child = Child(["/bin/sh", "-c", "seq 1000"], tmp_path / "log")
    wait_until(lambda: not child.is_running(), timeout_seconds=10, what="the child has ended")
    lines = child.log_tail().splitlines()
    assert lines[-1] == "1000"
    assert len(lines) < 100


def test_a_killed_child_is_gone_and_may_be_killed_again(tmp_path: Path) -> None:
    child = Child(["/bin/sh", "-c", "exec sleep 1000"], tmp_path / "log")
    child.kill()
    child.kill()
    assert not child.is_running()
