"""The program itself: what it says of itself, and how it ends."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from plimsoll.cli import main

EXAMPLES = Path(__file__).parents[4] / "examples"


def test_the_version_is_that_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert f"plimsoll {metadata.version('plimsoll-operator')} " in capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["plan"],
        ["explain"],
        ["simulate"],
        ["simulate-trace"],
        ["replay"],
        ["usage"],
        ["version"],
    ],
)
def test_help_fits_a_terminal_of_80_columns(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    printed = capsys.readouterr().out
    assert ended.value.code == 0
    assert max(map(len, printed.splitlines())) <= 80


def test_the_help_of_plan_shows_how_to_ask_a_real_cluster(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["plan", "--help"])
    printed = capsys.readouterr().out
    assert "plimsoll plan --cluster examples/cluster.yaml -f examples/" in printed
    assert "kubectl get" in printed


@pytest.mark.parametrize("command", ["plan", "explain", "simulate", "simulate-trace", "replay"])
def test_help_loads_neither_models_nor_solver(command: str) -> None:
    script = (
        "import sys\nfrom plimsoll.cli import main\n"
        f"try:\n    main(['{command}', '--help'])\nexcept SystemExit:\n    pass\n"
        "sys.exit(bool({'pydantic', 'numpy', 'ortools'} & sys.modules.keys()))"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


@pytest.mark.slow
def test_who_stops_reading_gets_no_traceback() -> None:
    program = f"{sys.executable} -c 'import sys, plimsoll.cli as c; sys.exit(c.main())'"
    files = f"--cluster {EXAMPLES / 'cluster.yaml'} -f {EXAMPLES} --time-limit 0"
    command = f"{program} plan {files} -o json | true"
    ended = subprocess.run(["sh", "-c", command], check=True, capture_output=True, text=True)
    # On a slow machine it says, once, that it is still planning.
    assert not ended.stderr.replace("planning …\n", "", 1)
