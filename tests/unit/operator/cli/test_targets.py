import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll.cli import main
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.target_lives import a_targeting_job, a_workload


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
