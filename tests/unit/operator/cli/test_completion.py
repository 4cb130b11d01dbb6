"""Shells complete commands, options and their values; where a file may stand, they say so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from plimsoll.cli import main
from plimsoll.cli.completion.scripts import SCRIPTS
from plimsoll_devcluster.programs.shells import NoShellError, Shell, find_shell

PROGRAM = "import sys; from plimsoll.cli import main; sys.exit(main())"
NO_FILES, FILES = ":4", ":0"


def completed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[list[str], str]:
    """What may stand for the last word, and whether files may."""
    assert main(["__complete", *words]) == 0
    *lines, directive = capsys.readouterr().out.splitlines()
    return [line.partition("\t")[0] for line in lines], directive


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["sim"], ["simulate", "simulate-trace"]),
        (["top", ""], ["jobs", "nodes"]),
        (["top", "n"], ["nodes"]),
        (["import", ""], ["kueue", "karpenter"]),
        (["import", "kueue", "--ku"], ["--kubeconfig"]),
        (["top", "jobs", "--output", "j"], ["json"]),
        (["top", "jobs", "--output=c"], ["--output=csv"]),
        (["top", "--watch", "j"], ["jobs"]),
        (["top", "--output", "json", "j"], ["jobs"]),
        (["top", "--output=json", "j"], ["jobs"]),
        (["top", "jobs", ""], []),
        (["no-such-command", ""], []),
        (["version", "--no-such-option=x"], []),
        (["usage", "--by", "n"], ["namespace"]),
        (["usage", "--by", "queue,t"], ["queue,type"]),
        (["usage", "--by=type,da"], ["--by=type,day"]),
        (["usage", "--by", "queue,q"], []),
        (["usage", "-o", "f"], ["focus"]),
    ],
)
def test_what_may_follow_is_offered(
    words: list[str], found: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert completed(capsys, *words) == (found, NO_FILES)


def test_words_that_no_cluster_knows_load_nothing_that_takes_long() -> None:
    program = (
        "import sys; from plimsoll.cli import main; main(['__complete', 'top', 'n']); "
        "sys.exit(bool({'pydantic', 'kubernetes', 'aiohttp'} & sys.modules.keys()))"
    )
    ran = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)
    assert (ran.returncode, ran.stdout.split()) == (0, [b"nodes", b":4"])


def test_a_command_is_offered_with_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    main(["__complete", "queu"])
    assert capsys.readouterr().out.startswith("queue\tShow what each queue uses")


@pytest.mark.parametrize("words", [["replay", "s"], ["plan", "-f", ""], ["plan", "--cluster="]])
def test_files_are_left_to_the_shell(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert completed(capsys, *words) == ([], FILES)


def test_contexts_are_those_of_the_kubeconfig(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kubeconfig"
    contexts = "[{name: east, context: {}}, {name: west, context: {}}]"
    file.write_text(f"contexts: {contexts}\nclusters: []\nusers: []\n")
    words = ["queue", "--kubeconfig", str(file), "--context", "w"]
    assert completed(capsys, *words) == (["west"], NO_FILES)


def test_without_a_cluster_no_names_are_offered_and_nothing_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["queue", "--kubeconfig", str(tmp_path / "none"), ""]
    assert completed(capsys, *words) == ([], NO_FILES)
    assert capsys.readouterr().err == ""


def shell(name: str) -> Shell:
    """A shell; its lack is a failure only where tests must be complete."""
    try:
        return find_shell(name, os.environ)
    except NoShellError as error:
        if "CI" in os.environ:
            raise
        pytest.skip(str(error))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment with the program on PATH."""
    program = tmp_path / "plimsoll"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{PROGRAM}' \"$@\"\n")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


def printed(name: str, script: str, environment: dict[str, str]) -> list[str]:
    """The lines that a shell prints for a script."""
    found = shell(name)
    command = [str(found.path), *(["-f"] if name == "zsh" else []), "-c", script]
    ran = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        env={**environment, **found.environment},
    )
    return ran.stdout.splitlines()


def test_bash_completes_also_what_it_parts_at_a_sign(environment: dict[str, str]) -> None:
    cases = {
        "top n": "nodes",
        "top jobs --output = c": "csv",
        "top jobs --output =": "table wide json yaml csv",
        "top jobs --output json --w": "--watch",
    }
    asked = "".join(
        f"COMP_WORDS=(plimsoll {words}); COMP_CWORD={len(words.split())}; _plimsoll\n"
        'echo "${COMPREPLY[@]}"\n'
        for words in cases
    )
    assert printed("bash", SCRIPTS["bash"] + asked, environment) == [*cases.values()]


@pytest.mark.slow
def test_zsh_offers_words_with_what_they_mean(environment: dict[str, str]) -> None:
    shown = """
        compdef() { :; }
        _describe() { print -rl -- "${(@P)2}"; }
        _files() { print files; }
    """
    asked = """
        words=(plimsoll versi); CURRENT=2; _plimsoll
        words=(plimsoll replay ''); CURRENT=3; _plimsoll
    """
    assert printed("zsh", shown + SCRIPTS["zsh"] + asked, environment) == [
        "version:Show the version of this program.",
        "files",
    ]


@pytest.mark.slow
def test_fish_offers_words_with_what_they_mean(environment: dict[str, str]) -> None:
    asked = "complete -C 'plimsoll top n'; complete -C 'plimsoll versi'"
    assert printed("fish", SCRIPTS["fish"] + asked, environment) == [
        "nodes",
        "version\tShow the version of this program.",
    ]
