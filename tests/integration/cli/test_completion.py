"""Names of jobs, queues and namespaces are completed from the cluster."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from plimsoll.cli import main
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from support.clusters.scene import GROUP
from support.objects.job_manifests import a_queue, a_training_job, an_inference_job

PROGRAMS = {"kubectl-plimsoll": "main", "kubectl_complete-plimsoll": "complete_plugin"}


@pytest.fixture
def kubeconfig(control_plane: Cluster, api: ApiServer, namespace: str) -> str:
    """That of a cluster with a queue and two jobs."""
    api.create(f"{GROUP}/jobqueues", a_queue("research"))
    own = f"{GROUP}/namespaces/{namespace}"
    api.create(f"{own}/trainingjobs", a_training_job("bert"))
    api.create(f"{own}/inferencejobs", an_inference_job("chat"))
    return str(control_plane.kubeconfig)


def test_names_are_those_of_the_cluster(
    kubeconfig: str, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = {
        f"queue -n {namespace} ": ["research"],
        f"queue -n {namespace} x": [],
        f"explain -n {namespace} ": ["bert", "chat"],
        f"explain --namespace={namespace} b": ["bert"],
        f"explain -n {namespace}": [namespace],
    }
    for typed, found in cases.items():
        command, *words = typed.split(" ")
        main(["__complete", command, "--kubeconfig", kubeconfig, *words])
        *lines, directive = capsys.readouterr().out.splitlines()
        names = [line.partition("\t")[0] for line in lines]
        assert (names, directive) == (found, ":4"), typed


@pytest.fixture
def plugin(tmp_path: Path) -> dict[str, str]:
    """An environment in which kubectl finds the plugin and what completes it."""
    for name, function in PROGRAMS.items():
        program = tmp_path / name
        code = f"import sys\nfrom plimsoll import cli\nsys.exit(cli.{function}())\n"
        program.write_text(f"#!{sys.executable}\n{code}")
        program.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


def kubectl(environment: dict[str, str], *arguments: str) -> str:
    program = find_programs(os.environ) / "kubectl"
    ran = subprocess.run(
        [str(program), *arguments], check=True, capture_output=True, text=True, env=environment
    )
    return ran.stdout


@pytest.mark.slow
def test_kubectl_runs_the_plugin_and_completes_it(
    plugin: dict[str, str], kubeconfig: str, namespace: str
) -> None:
    assert kubectl(plugin, "plimsoll", "top", "--help").startswith("example: kubectl plimsoll top ")
    shown = kubectl(plugin, "plimsoll", "top", "jobs", "-n", namespace, "--kubeconfig", kubeconfig)
    assert {"bert", "chat"} <= {*re.findall("bert|chat", shown)}
    commands = kubectl(plugin, "__complete", "plimsoll", "sta")
    assert commands.startswith("status\t")
    words = ("explain", "--kubeconfig", kubeconfig, "-n", namespace, "b")
    assert kubectl(plugin, "__complete", "plimsoll", *words).startswith("bert\t")
