"""Files as users have them, and `plimsoll plan` run on them."""

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll.cli import main
from support.objects.manifests import Manifest


@dataclass(frozen=True, slots=True)
class Ran:
    """How the program ended, and what it said.

    `err` leaves out what it says when something takes long: a busy machine may make it say so.
    """

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
    return Ran(status, printed.out, _without_progress(printed.err))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Ran:
    """Run a command as it stands."""
    status = main([*arguments])
    printed = capsys.readouterr()
    return Ran(status, printed.out, _without_progress(printed.err))


async def ran_beside(*arguments: str) -> Ran:
    """The same in a process of its own, while this one answers it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", "import sys; from plimsoll.cli import main; sys.exit(main())", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return Ran(process.returncode or 0, out.decode(), _without_progress(err.decode()))


def _without_progress(said: str) -> str:
    lines = said.splitlines(keepends=True)
    return "".join(line for line in lines if not line.endswith(" …\n"))


def written(folder: Path, name: str, *manifests: Manifest) -> str:
    """The path of a file with these manifests."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump_all(manifests))
    return str(path)
