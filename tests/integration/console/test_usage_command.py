"""`plimsoll usage`: what the console's ledger says, through the API server and past it."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from plimsoll_console.ledger.database.connection import connected
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.processes.console_process import ConsoleProcess
from plimsoll_devcluster.processes.credentials import kubeconfig, write_secret
from support.clusters.console_users import JOBS, MakeUser
from support.ledger.billed import A, B, a_ledger
from support.programs.asynchronous import asynchronous
from support.programs.cli_runs import Ran, ran_beside, run
from support.project.shown_output import normal, shown_after
from support.servers.answering_server import always, answering
from support.servers.forwarding_server import ForwardingServer

HOURS = 60
DAY = ("--since", "2025-11-23", "--until", "2025-11-24")
SHOWN = (
    "usage --since 2025-11-23 --until 2025-11-24 --by queue,type",
    "usage --since 2025-11-23 --until 2025-11-24 -n team-a --by user,job",
)
FOREVER = "36500"
Ask = Callable[..., Ran]


@pytest.fixture(scope="module")
def console(
    control_plane: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConsoleProcess]:
    """A console with a ledger of two teams."""
    url = f"sqlite:///{tmp_path_factory.mktemp('console') / 'ledger.db'}"
    engine = connected(url)
    a_ledger(engine, HOURS)
    engine.dispose()
    environment = {
        "PLIMSOLL_CONSOLE_LEDGER_URL": url,
        "PLIMSOLL_CONSOLE_LEDGER_RETENTION_DAYS": FOREVER,
    }
    with ConsoleProcess(control_plane.kubeconfig, environment) as process:
        yield process
        assert process.stop() == 0


@pytest.fixture
def ask(
    console: ConsoleProcess,
    control_plane: Cluster,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Ask:
    """Runs the command for one who may see all; options that come later hold."""
    monkeypatch.delenv("COLUMNS", raising=False)
    where = "--kubeconfig", str(control_plane.kubeconfig), "--console", console.url
    return lambda *options: run(capsys, "usage", *where, *options)


def printed(ran: Ran) -> str:
    assert (ran.status, ran.err) == (0, "")
    return ran.out


def test_commands_print_what_the_reference_shows(ask: Ask) -> None:
    said = {each: normal(printed(ask(*each.split()[1:]))) for each in SHOWN}
    assert said == {each: shown_after(f"plimsoll {each}") for each in SHOWN}


def test_programs_get_exact_numbers(ask: Ask) -> None:
    found = json.loads(printed(ask(*DAY, "-o", "json")))
    assert (found["since"], found["by"]) == ("2025-11-23T00:00:00Z", ["queue"])
    used = {row["keys"]["queue"]: row for row in found["rows"]}
    assert used["research"]["gpuHours"] == 48
    assert used["research"]["dollars"] == 120
    assert used["sales"]["gpuHoursByUse"]["useful"] == 96
    assert used[""]["gpuHoursByUse"]["idle"] == 48
    rows = [*csv.DictReader(io.StringIO(printed(ask(*DAY, "-o", "csv", "--by", "namespace"))))]
    assert {row["namespace"]: float(row["gpu_hours"]) for row in rows} == {"": 0, A: 48, B: 96}
    focus = csv.DictReader(io.StringIO(printed(ask(*DAY, "-o", "focus"))))
    assert sum(float(row["BilledCost"]) for row in focus) == 120 + 96 + 120
    (heading,) = (line for line in printed(ask(*DAY, "-o", "wide")).splitlines() if "COST" in line)
    assert heading.split()[-2:] == ["UNOBSERVED", "WAITING"]


def test_a_namespace_is_shown_to_those_who_may_see_it(
    ask: Ask, a_user: MakeUser, tmp_path: Path
) -> None:
    own = write_secret(tmp_path / "token", a_user(here=[JOBS]).token)
    nothing = "From 2025-11-23 00:00 to 2025-11-24 00:00 UTC, nothing that you may see was used.\n"
    assert printed(ask(*DAY, "-n", A, "--token-file", str(own))) == nothing
    said = printed(ask(*DAY, "--token-file", str(own)))
    assert "(others)" in said
    assert not [name for name in ("research", "sales") if name in said]
    rows = json.loads(printed(ask(*DAY, "-n", B, "-o", "json")))["rows"]
    assert [row["keys"] for row in rows] == [{"queue": "sales"}]


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (("--since", "tomorrow"), 2, "plimsoll: --since: 'tomorrow' is no time: write 30d"),
        (("--by", "day,month"), 2, "plimsoll: --by: names several of hour, day and month"),
        (("--console", "http://console.example"), 2, "would send your token for all to read"),
        (("--console", "console:8090"), 2, "--console: console:8090 is no address: write https"),
        (("--console", "http://127.0.0.1:1"), 3, "the console does not respond"),
        (("--token-file", "/dev/null"), 2, "--token-file: there is no token in it: get one"),
        (("--token-file", "/no/file"), 2, "--token-file: [Errno 2]"),
    ],
)
def test_what_cannot_be_answered_is_said_with_the_remedy(
    ask: Ask, options: tuple[str, ...], status: int, said: str
) -> None:
    ran = ask(*options)
    assert (ran.status, ran.out) == (status, "")
    assert said in ran.err


def test_a_foreign_token_is_rejected(ask: Ask, tmp_path: Path) -> None:
    ran = ask("--token-file", str(write_secret(tmp_path / "token", "foreign")))
    assert (ran.status, ran.out) == (3, "")
    assert "plimsoll: the console rejects your token: the token is expired" in ran.err


@pytest.mark.slow
def test_a_console_without_a_ledger_says_how_to_turn_it_on(
    ask: Ask, control_plane: Cluster
) -> None:
    with ConsoleProcess(control_plane.kubeconfig) as bare:
        ran = ask("--console", bare.url)
    assert (ran.status, ran.out) == (1, "")
    how = "turn it on by console.ledger.enabled of the Helm chart"
    assert f"plimsoll: the console keeps no ledger: {how}\n" in ran.err


def test_a_word_that_is_mistyped_is_guessed(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        ask("--by", "qeue,type")
    assert ended.value.code == 2
    assert "--by: there is no 'qeue': did you mean queue?" in capsys.readouterr().err


async def beside(folder: Path, server: str, token: str, *options: str) -> Ran:
    """The command, run for a user of a server of this process."""
    config = kubeconfig(server=server, certificate=None, token=token)
    path = write_secret(folder / "kubeconfig", config)
    return await ran_beside("usage", "--kubeconfig", str(path), *options)


@pytest.mark.slow
@asynchronous
async def test_the_console_is_reached_through_the_api_server(
    console: ConsoleProcess, admin_token: str, tmp_path: Path
) -> None:
    pods = ForwardingServer(urlsplit(console.url).port or 0, admin_token)
    async with pods.running() as server:
        where = ("--console-namespace", "home")
        ran = await beside(tmp_path, server.server, admin_token, *DAY, *where)
    assert "research" in printed(ran)
    assert pods.asked[0].startswith("/api/v1/namespaces/home/pods?")


@pytest.mark.slow
@asynchronous
async def test_where_there_is_no_console_or_no_token_it_is_said_how_to_get_one(
    tmp_path: Path,
) -> None:
    pods = ForwardingServer(1)
    pods.gone = True
    async with pods.running() as server:
        ran = await beside(tmp_path, server.server, "the-users-token")
        bare = await beside(tmp_path, server.server, "")
    assert (ran.status, ran.out) == (1, "")
    assert "there is no console in the cluster that is ready: install it" in ran.err
    assert (bare.status, bare.out) == (2, "")
    assert "has no token, and a client certificate is none: give one with --token-file" in bare.err


@asynchronous
@pytest.mark.parametrize(("body", "status"), [(b"<html>", 200), (b"<html>", 404), (b"{}", 200)])
async def test_what_is_no_console_is_not_taken_for_one(
    tmp_path: Path, body: bytes, status: int
) -> None:
    async with answering(always(body, status)) as other:
        ran = await beside(tmp_path, other.server, "token", "--console", other.server)
    assert (ran.status, ran.out) == (3, "")
    assert "what answers there is no console" in ran.err
