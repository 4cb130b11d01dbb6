"""Files as users have them, and `plimsoll plan` run on them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll.cli import main
from support.objects.manifests import Manifest


@dataclass(frozen=True, slots=True)
class Ran:
    """How the program ended, and what it said."""

    status: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """The report, without the time that it took."""
        assert self.status == 0, self.err
        report = json.loads(self.out)
        del report["summary"]["seconds"]
        return report

    def job(self, name: str) -> dict[str, Any]:
        """What the report says of a job."""
        (line,) = (line for line in self.report["jobs"] if line["name"] == name)
        return line


def plan(capsys: pytest.CaptureFixture[str], *arguments: str, output: str = "json") -> Ran:
    """Plan as far as greedy goes."""
    status = main(["plan", "-o", output, "--time-limit", "0", *arguments])
    printed = capsys.readouterr()
    return Ran(status, printed.out, printed.err)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Ran:
    """Run a command as it stands."""
    status = main([*arguments])
    printed = capsys.readouterr()
    return Ran(status, printed.out, printed.err)


def written(folder: Path, name: str, *manifests: Manifest) -> str:
    """The path of a file with these manifests."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump_all(manifests))
    return str(path)
