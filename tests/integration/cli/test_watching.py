"""Commands that watch show each change, and end when nobody looks on any more."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import NODES, add_nodes, fake_node
from support.clusters.scene import GROUP, SECONDS
from support.objects.job_manifests import a_queue

# In the background of a shell without job control, what a test starts would ignore Ctrl-C.
PROGRAM = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
    " from plimsoll.cli import main; sys.exit(main())"
)
HOME, GREEN = "\x1b[H", "\x1b[32m"


@contextmanager
def watching(cluster: Cluster, *arguments: str, out: int) -> Generator[subprocess.Popen[str]]:
    """The program itself, watching; `out` is what it writes to."""
    command = [sys.executable, "-c", PROGRAM, *arguments, "-w"]
    command += ["--kubeconfig", str(cluster.kubeconfig)]
    with subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """How it ended, and what it said on standard error."""
    status = process.wait(timeout=SECONDS)
    assert process.stderr is not None
    return status, process.stderr.read()


def add_queue(api: ApiServer, name: str) -> None:
    api.create(f"{GROUP}/jobqueues", a_queue(name, guaranteed=2))


def names(line: str) -> list[str]:
    queues: list[dict[str, Any]] = json.loads(line)["queues"]
    return [queue["name"] for queue in queues]


def test_each_change_is_a_line_of_json_until_the_program_is_interrupted(
    control_plane: Cluster, api: ApiServer
) -> None:
    add_queue(api, "first")
    with watching(control_plane, "queue", "-o", "json", out=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert names(process.stdout.readline()) == ["first"]
        add_queue(api, "second")
        assert names(process.stdout.readline()) == ["first", "second"]
        process.send_signal(signal.SIGINT)
        assert ended(process) == (130, "")


@pytest.mark.slow
def test_nothing_is_said_when_nobody_reads_on(control_plane: Cluster, api: ApiServer) -> None:
    add_queue(api, "first")
    with watching(control_plane, "queue", out=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("QUEUE")
        process.stdout.close()
        add_queue(api, "second")
        assert ended(process) == (0, "")


def test_a_terminal_is_drawn_anew_in_place_and_in_colour(
    control_plane: Cluster, api: ApiServer
) -> None:
    add_nodes(api, [fake_node("shown")])
    leader, follower = pty.openpty()
    try:
        with watching(control_plane, "top", "nodes", out=follower) as process:
            seen = Seen(leader)
            seen.until(GREEN + "Ready")
            api.merge(f"{NODES}/shown", {"spec": {"unschedulable": True}})
            seen.until("Cordoned")
            assert seen.text.count(HOME) >= 2
            process.send_signal(signal.SIGINT)
            assert ended(process) == (130, "")
    finally:
        os.close(leader)
        os.close(follower)


class Seen:
    """What a terminal has shown."""

    def __init__(self, leader: int) -> None:
        self._leader, self.text = leader, ""

    def until(self, text: str) -> None:
        """Read on until it shows this."""
        while text not in self.text:
            self.text += os.read(self._leader, 4096).decode(errors="replace")


@pytest.mark.slow
def test_a_cluster_that_does_not_answer_has_a_status_of_its_own(
    control_plane: Cluster, tmp_path: Path
) -> None:
    config = control_plane.kubeconfig.read_text()
    gone = tmp_path / "kubeconfig"
    gone.write_text(config.replace("https://127.0.0.1:", "https://127.0.0.1:1/"))
    command = [sys.executable, "-c", PROGRAM, "top", "jobs", "--kubeconfig", str(gone)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (3, "")
    assert "the cluster does not respond" in ran.stderr
    assert "Traceback" not in ran.stderr
