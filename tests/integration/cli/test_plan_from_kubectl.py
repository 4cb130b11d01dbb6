"""What kubectl prints of a cluster is a file that `plimsoll plan` understands."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import ready_nodes
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.waiting import wait_until
from support.programs.cli_runs import Ran, plan

EXAMPLES = Path(__file__).parents[3] / "examples"
# A Job is planned by an operator; where there is none, Kubernetes runs it at once.
PARTS = [str(EXAMPLES / name) for name in ("cluster.yaml", "jobs", "scaling", "targets")]
APPLIED = [argument for part in PARTS for argument in ("-f", part)]
KINDS = "ns,nodes,pods,pv,pc,pdb,plimsoll,jobs,deployments,statefulsets"
NODES = 20


def kubectl(cluster: Cluster, *arguments: str) -> str:
    program = find_programs(os.environ) / "kubectl"
    command = [str(program), "--kubeconfig", str(cluster.kubeconfig), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def of_one_second(printed: str) -> str:
    """The same objects, all created at once, as those of files are.

    To apply the examples takes more than a second on a busy machine, and who came first goes first.
    """
    aged, count = re.subn(r'(creationTimestamp"?: ")[^"]+"', r'\g<1>2026-01-01T00:00:00Z"', printed)
    assert count
    return aged


def fates(ran: Ran) -> dict[str, object]:
    """What becomes of each job, whatever namespace it is in."""
    return {
        job["name"]: [job[key] for key in ("kind", "queue", "priority", "action", "place")]
        for job in ran.report["jobs"]
    }


@pytest.fixture
def examples(control_plane: Cluster, api: ApiServer, namespace: str) -> Cluster:
    """A cluster that the examples, except the Job, are applied to, with its nodes ready."""
    kubectl(control_plane, "apply", "-n", namespace, "-R", *APPLIED)
    wait_until(
        lambda: len(ready_nodes(api)) >= NODES, timeout_seconds=60, what="the nodes are ready"
    )
    return control_plane


def test_the_plan_of_what_kubectl_prints_is_that_of_the_files(
    examples: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = fates(plan(capsys, *APPLIED))
    assert files
    for form in ("yaml", "json"):
        cluster = tmp_path / f"cluster.{form}"
        cluster.write_text(of_one_second(kubectl(examples, "get", KINDS, "-A", "-o", form)))
        assert fates(plan(capsys, "--cluster", str(cluster))) == files
