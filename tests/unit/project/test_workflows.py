import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.project.pages import ROOT

FOLDER = ROOT / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yml"))
EACH = pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
# An expression is put into a script before a shell reads it, so whoever chose a branch's name would
# write a part of the script.
EXPRESSION = "${{"


def workflow(file: Path) -> dict[Any, Any]:
    return yaml.safe_load(file.read_text())


def events(file: Path) -> dict[str, Any]:
    return workflow(file)[True]  # YAML 1.1 reads the key `on` as true


def jobs(file: Path) -> dict[str, dict[str, Any]]:
    return workflow(file)["jobs"]


def steps(file: Path) -> Iterator[dict[str, Any]]:
    for job in jobs(file).values():
        yield from job.get("steps", [])


@EACH
def test_an_action_is_named_by_its_commit_with_the_version_behind_it(file: Path) -> None:
    used = re.findall(r"uses: (\S+)(?: # (.*))?", file.read_text())
    assert used
    elsewhere = [(name, version) for name, version in used if not name.startswith("./")]
    assert [name for name, _ in elsewhere if not PINNED.fullmatch(name)] == []
    assert [n for n, version in elsewhere if not re.fullmatch(r"v\d+\.\d+\.\d+", version)] == []


def test_an_action_has_one_version_everywhere() -> None:
    text = "".join(file.read_text() for file in FILES)
    used = set(re.findall(r"uses: ([^@\s]+)@(\w+ # \S+)", text))
    assert len(used) == len({name for name, _ in used})


@EACH
def test_a_job_has_no_rights_but_those_it_names(file: Path) -> None:
    assert workflow(file)["permissions"] == {}
    assert [name for name, job in jobs(file).items() if "permissions" not in job] == []


@EACH
def test_code_of_a_pull_request_sees_no_secret_and_may_write_nothing(file: Path) -> None:
    assert not events(file).keys() & {"pull_request_target", "workflow_run", "issue_comment"}
    if "pull_request" in events(file):
        assert "secrets." not in file.read_text()
        rights = {right for job in jobs(file).values() for right in job["permissions"].values()}
        assert rights <= {"read"}


@EACH
def test_no_script_has_text_of_others_put_into_it(file: Path) -> None:
    scripts = [step["run"] for step in steps(file) if "run" in step]
    assert [script for script in scripts if EXPRESSION in script] == []


@EACH
def test_a_checkout_keeps_no_credentials(file: Path) -> None:
    checkouts = [each for each in steps(file) if "actions/checkout@" in each.get("uses", "")]
    assert [each for each in checkouts if each["with"]["persist-credentials"] is not False] == []


def test_each_change_is_checked_by_what_anybody_can_run() -> None:
    file = FOLDER / "ci.yml"
    assert events(file).keys() == {"pull_request", "push", "workflow_call"}
    assert [step["run"] for step in steps(file) if "run" in step] == [".ci/run"]


@EACH
def test_no_job_runs_for_hours(file: Path) -> None:
    own = [job for job in jobs(file).values() if "uses" not in job]
    assert [job for job in own if job["timeout-minutes"] > 90] == []


def test_a_release_is_made_of_tags_only_and_after_all_tests() -> None:
    file = FOLDER / "release.yml"
    assert events(file) == {"push": {"tags": ["v*"]}}
    needed = {name: job.get("needs", []) for name, job in jobs(file).items()}
    assert needed == {
        "test": [],
        "image": "test",
        "files": "image",
        "chart": "image",
        "publish": ["files", "chart"],
    }
    assert jobs(file)["test"]["uses"] == "./.github/workflows/ci.yml"


def test_what_is_released_is_signed_with_its_origin_and_a_list_of_what_is_in_it() -> None:
    release = jobs(FOLDER / "release.yml")
    for job in ("image", "chart", "publish"):
        assert any("actions/attest@" in each.get("uses", "") for each in release[job]["steps"])
        assert any("cosign sign" in each.get("run", "") for each in release[job]["steps"])
    [build] = [each["with"] for each in release["image"]["steps"] if each.get("id") == "build"]
    assert build["platforms"] == "linux/amd64,linux/arm64"
    assert (build["provenance"], build["sbom"]) == ("mode=max", True)
    # Neither another base than that of the Dockerfile, nor what an earlier build has left.
    assert not build.keys() & {"build-args", "cache-from", "cache-to", "build-contexts"}
