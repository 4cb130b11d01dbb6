import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll.cli import main
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.recorded_clusters import a_job
from support.clusters.target_lives import a_targeting_job, a_workload
from support.programs.cli_runs import run, written


def planned(
    folder: Path, capsys: pytest.CaptureFixture[str], *manifests: Manifest
) -> dict[str, Any]:
    """What `plimsoll plan` says of the one job among these."""
    file = folder / "given.yaml"
    file.write_text(yaml.safe_dump_all([fake_node("node", gpus=4), *manifests]))
    assert main(["plan", "-f", str(file), "-o", "json"]) == 0
    (job,) = json.loads(capsys.readouterr().out)["jobs"]
    return job


def test_a_target_that_is_given_is_planned_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = a_workload(replicas=3, gated=True)
    job = planned(tmp_path, capsys, target, a_targeting_job(target=target))
    assert job["action"] == "Admit"
    assert job["place"][0]["nodes"] == {"node": 3}


def test_a_target_that_is_not_given_is_missed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = planned(tmp_path, capsys, a_targeting_job())
    assert (job["action"], job["reason"]) == ("Hold", "FailedGetScale")
    assert "Deployment web was not given" in job["message"]


def test_a_target_that_is_not_given_is_all_that_explains_a_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, "given.yaml", fake_node("node", gpus=4), a_targeting_job())
    ran = run(capsys, "explain", "serve", "--cluster", file)
    assert ran.status == 0, ran.err
    assert "Deployment web was not given" in ran.out
    assert "let it run" not in ran.out


def test_a_job_whose_target_is_not_given_keeps_no_other_from_being_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = written(tmp_path, "given.yaml", fake_node("node", gpus=4), a_targeting_job())
    other = written(tmp_path, "other.yaml", a_job("other", 1))
    for file, starts in ((other, "starts: now"), (cluster, "starts: unknown")):
        ran = run(capsys, "simulate", "-f", file, "--cluster", cluster)
        assert ran.status == 0, ran.err
        assert starts in ran.out
