"""The program calls itself as the user did, and guesses what a mistyped word meant."""

import subprocess
import sys
from pathlib import Path

import pytest

from plimsoll.cli import main
from plimsoll.cli.invocation import as_called, did_you_mean


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/usr/bin/plimsoll", "plimsoll"),
        ("/home/me/.krew/bin/kubectl-plimsoll", "kubectl plimsoll"),
        ("-c", "plimsoll"),
    ],
)
def test_help_and_errors_name_the_program_as_it_was_called(
    path: str,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", [path])
    with pytest.raises(SystemExit):
        main(["explain", "--help"])
    printed = capsys.readouterr().out
    assert printed.startswith(f"example: {name} explain train -n team\n\nusage: {name} explain ")
    assert f"\n  {name} explain tj/train --snapshot snapshot.json" in printed
    assert main(["replay", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.startswith(f"{name}: ")


def test_only_commands_are_renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["kubectl-plimsoll"])
    text = "kubectl get plimsoll -A | plimsoll plan --cluster plimsoll.json"
    renamed = "kubectl get plimsoll -A | kubectl plimsoll plan --cluster plimsoll.json"
    assert as_called(text) == renamed


def test_a_mistyped_command_is_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["explian"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(": did you mean explain?\n")


def test_nothing_is_guessed_of_what_is_like_nothing() -> None:
    assert did_you_mean("xyzzy", ["explain", "plan"]) == ""


@pytest.mark.parametrize("command", ["status", "top", "queue", "completion"])
def test_help_loads_neither_models_nor_solver_nor_client(command: str) -> None:
    script = (
        "import sys\nfrom plimsoll.cli import main\n"
        f"try:\n    main(['{command}', '--help'])\nexcept SystemExit:\n    pass\n"
        "sys.exit(bool({'pydantic', 'numpy', 'ortools', 'aiohttp'} & sys.modules.keys()))"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
