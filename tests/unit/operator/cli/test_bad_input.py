"""Whatever is wrong with files, a user reads where, what, and what to do."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
import yaml

from plimsoll.cli import main
from plimsoll_devcluster.fake_nodes import fake_node
from support.objects.manifests import edited, gpu_pool, job_queue, training_job
from support.objects.wrong_manifests import ONLY_WE_REFUSE, WRONG, Wrong
from support.programs.cli_runs import plan, written

NODE: Final = fake_node("node-1")
_HEAD: Final = "apiVersion: plimsoll.dev/v1alpha1\nkind: JobQueue\nmetadata: {name: q}\n"
_LISTED: Final = (
    "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: n}}\n"
    "- {apiVersion: v1, kind: Node, metadata: {}}\n"
)


@dataclass(frozen=True, slots=True)
class Bad:
    """A file that cannot be used, and all that must be said of it after its name."""

    claim: str
    text: str
    said: str


BAD: Final = (
    Bad("no YAML", "a: [1,\nb: 2\n", ": is not YAML: line 3, column 1: "),
    Bad("a tab", "a:\n\tb: 1\n", ": is not YAML: line 2, column 1: "),
    Bad(
        "a key twice", f"{_HEAD}kind: Node\n", ": is not YAML: line 4, column 1: duplicate key kind"
    ),
    Bad(
        "a key that is no text",
        f"{_HEAD}spec:\n  null: 2\n",
        ": is not YAML: line 5, column 3: the key null: must be a text, such as 'null'",
    ),
    Bad(
        "a text", "hello\n", ": is not a Kubernetes object: it needs apiVersion, kind and metadata"
    ),
    Bad("no kind", "apiVersion: v1\n", ": kind is required, such as TrainingJob"),
    Bad("no version", "kind: Pod\n", ": apiVersion is required, such as plimsoll.dev/v1alpha1"),
    Bad(
        "no name",
        "apiVersion: v1\nkind: Node\nmetadata: {}\n",
        ": Node: metadata.name: is required",
    ),
    Bad(
        "no metadata",
        "apiVersion: v1\nkind: Node\nmetadata: 3\n",
        ": Node: metadata.name: is required",
    ),
    Bad(
        "a version of tomorrow",
        _HEAD.replace("v1alpha1", "v2"),
        ": JobQueue q: apiVersion: must be plimsoll.dev/v1alpha1",
    ),
    Bad(
        "a kind that there is not",
        _HEAD.replace("JobQueue", "JobQ"),
        ": JobQ q: kind: is unknown in plimsoll.dev/v1alpha1: use one of GPUPool, InferenceJob",
    ),
    Bad(
        "an unknown field",
        f"{_HEAD}spec: {{wieght: 2}}\n",
        ": JobQueue q: spec.wieght: is unknown: did you mean weight?",
    ),
    Bad(
        "a field like no other",
        f"{_HEAD}spec: {{colour: red}}\n",
        ": JobQueue q: spec.colour: is unknown: remove it, or use one of disruption,",
    ),
    Bad(
        "an unknown field in a list",
        f"{_HEAD}spec: {{quotas: [{{type: A, gaurantee: 2}}]}}\n",
        ": JobQueue q: spec.quotas[0].gaurantee: is unknown: did you mean guaranteed?",
    ),
    Bad(
        "in the second document",
        f"{_HEAD}---\n{_HEAD}spec: {{weight: 0}}\n",
        ", document 2: JobQueue q: spec.weight: should be greater than or equal to 1; it is 0",
    ),
    Bad("in an item of a list", _LISTED, ", item 2: Node: metadata.name: is required"),
    Bad(
        "a quantity of a node",
        yaml.safe_dump(edited(NODE, {"status.allocatable.cpu": "lots"})),
        ": Node node-1: status.capacity.cpu: 'lots' is not a quantity",
    ),
    Bad(
        "a list that is none",
        yaml.safe_dump(edited(NODE, {"spec.taints": "none"})),
        ": Node node-1: spec.taints: Expected `array`, got `str`",
    ),
    Bad(
        "a label that is a number",
        yaml.safe_dump(edited(gpu_pool(), {"spec.nodeSelector": {"gpus": 8}})),
        ": GPUPool h100: spec.nodeSelector.gpus: should be a valid string; it is 8",
    ),
)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.claim)
def test_a_bad_file_is_refused_by_name_place_and_remedy(
    bad: Bad, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "given.yaml"
    file.write_text(bad.text)
    ran = plan(capsys, "--cluster", written(tmp_path, "node.yaml", NODE), "-f", str(file))
    assert (ran.status, ran.out) == (2, "")
    assert f"plimsoll: {file}{bad.said}" in ran.err


def test_keys_are_written_out_as_kubectl_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "given.yaml"
    file.write_text(f"{_HEAD}spec: {{7: 1, yes: 2}}\n")
    ran = plan(capsys, "-f", str(file))
    assert ran.status == 2
    assert "JobQueue q: spec[7]: is unknown" in ran.err
    assert "JobQueue q: spec.true: is unknown" in ran.err


@pytest.mark.parametrize("wrong", WRONG + ONLY_WE_REFUSE, ids=lambda wrong: wrong.claim)
def test_what_an_api_server_refuses_is_refused(
    wrong: Wrong, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, "wrong.yaml", NODE, wrong.manifest)
    ran = plan(capsys, "-f", file)
    assert ran.status == 2
    (problem,) = ran.err.splitlines()
    assert problem.startswith(f"plimsoll: {file}, document 2: {wrong.manifest['kind']}")
    assert wrong.field.rpartition(".")[2].partition("[")[0] in problem


def test_all_that_is_wrong_is_reported_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = edited(training_job(), {"spec.workers.min": 0, "spec.qeue": "q"})
    ran = plan(
        capsys,
        *("--cluster", str(tmp_path / "gone.yaml")),
        *("-f", written(tmp_path, "job.yaml", job)),
        *("-f", written(tmp_path, "queue.yaml", edited(job_queue(), {"spec.weight": 0}))),
    )
    said = ran.err.splitlines()
    assert len(said) == 4
    for line, part in zip(said, ["gone.yaml", "qeue", "workers.min", "weight"], strict=True):
        assert part in line


def test_what_is_not_there_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    paths = [str(tmp_path / name) for name in ("gone.yaml", "empty", "bytes.yaml")]
    ran = plan(capsys, "-f", paths[0], "-f", paths[1], "-f", paths[2])
    assert ran.status == 2
    assert ran.err.splitlines() == [
        f"plimsoll: {paths[0]}: cannot be read: No such file or directory",
        f"plimsoll: {paths[1]}: has no file that ends in .yaml, .yml, .json",
        f"plimsoll: {paths[2]}: cannot be read: is not text in UTF-8",
    ]


def test_one_object_cannot_say_two_things(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = written(tmp_path, "a.yaml", NODE, job_queue())
    other = written(tmp_path, "b.yaml", edited(job_queue(), {"spec.weight": 2}))
    ran = plan(capsys, "-f", first, "-f", other)
    assert ran.status == 2
    assert ran.err == (
        f"plimsoll: {other}: JobQueue research: differs from the one in {first}, document 2:"
        " remove one of them\n"
    )


def test_a_cluster_without_nodes_is_no_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = plan(capsys, "-f", written(tmp_path, "job.yaml", training_job()))
    assert ran.status == 2
    assert "there is no Node in the files: add the cluster's with --cluster" in ran.err


def test_without_files_and_cluster_there_is_nothing_to_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = plan(capsys, "--kubeconfig", str(tmp_path / "none"))
    assert ran.status == 2
    assert "no cluster configured: " in ran.err
    assert "name one with --kubeconfig and --context, or read a file with --cluster" in ran.err


@pytest.mark.parametrize("limit", ["-1", "soon", "inf", "nan"])
def test_a_time_limit_is_a_number_of_seconds(
    limit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["plan", f"--time-limit={limit}", "-f", "x"])
    assert ended.value.code == 2
    assert f"'{limit}' is not a number of seconds: use 0 or more" in capsys.readouterr().err
