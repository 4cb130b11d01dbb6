"""What became of a simulation: who held what, how many GPUs were waited for, and the picture."""

import asyncio
from xml.etree import ElementTree as ET

import pytest

from plimsoll_devcluster.gpu_models import H100
from plimsoll_simulator.cluster.api_server import Key
from plimsoll_simulator.cluster.nodes import gpu_node
from plimsoll_simulator.diary import NodeLife, Stay, by_job
from plimsoll_simulator.report.picture import picture
from plimsoll_simulator.report.usage import Steps, usage
from plimsoll_simulator.story import Lived
from plimsoll_simulator.twin import Twin, lived
from support.clusters.twin_jobs import HOUR, begin, submit

SPAN = HOUR / 4


def a_day() -> Lived:
    """Two jobs of eight GPUs on one node, which is away for a span while the first runs."""

    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("a", H100, 8))
        submit(twin, "first", gpus=8, hours=0.5)
        submit(twin, "second", gpus=8, hours=0.75)
        await asyncio.sleep(SPAN)
        twin.api.remove(Key("nodes", "", "a"))
        await asyncio.sleep(SPAN)
        twin.apply(gpu_node("a", H100, 8))
        await asyncio.sleep(6 * SPAN)

    twin = lived(story)
    diary, runs = twin.diary, [*twin.training.runs.values()]
    assert all(run.account.completed is not None for run in runs)
    return Lived(runs, (), [*diary.stays()], [*diary.nodes()], twin.clock.monotonic(), ())


@pytest.fixture(scope="module")
def day() -> Lived:
    """The same for all tests."""
    return a_day()


@pytest.mark.slow
def test_nothing_is_held_while_its_node_is_away(day: Lived) -> None:
    found = usage(day)
    assert [found.offered.at(spans * SPAN) for spans in (0.5, 1.5, 2.5)] == [8, 0, 8]
    assert [found.held.at(spans * SPAN) for spans in (0.5, 1.5, 2.5)] == [8, 0, 8]
    for time in sorted({*found.held.times, *found.offered.times}):
        assert found.held.at(time) <= found.offered.at(time)


def test_what_is_submitted_and_holds_nothing_is_wanted(day: Lived) -> None:
    wanted = usage(day).wanted
    assert [wanted.at(spans * SPAN) for spans in (0.5, 1.5, 2.5, 7.5)] == [8, 16, 8, 0]


def test_a_number_keeps_its_value_until_the_next_change() -> None:
    steps = Steps([1.0, 3.0], [5.0, 2.0])
    assert [steps.at(time) for time in (0.0, 1.0, 2.9, 3.0, 9.0)] == [0, 5, 5, 2, 2]


def test_stays_belong_to_their_jobs_in_their_order() -> None:
    stays = [Stay("a", "n", 1, 0.0, 1.0), Stay("b", "n", 1, 1.0, 2.0), Stay("a", "n", 1, 2.0, 3.0)]
    assert by_job(stays) == {"a": [stays[0], stays[2]], "b": [stays[1]]}


def test_the_picture_names_every_job_and_every_node(day: Lived) -> None:
    root = ET.fromstring(picture(day))  # noqa: S314 - it is our own
    tag = "{http://www.w3.org/2000/svg}"
    titles = {str(each.text) for each in root.iter(f"{tag}title")}
    assert titles == {f"team/first: 1 × {H100}", f"team/second: 1 × {H100}"}
    texts = {str(each.text) for each in root.iter(f"{tag}text")}
    assert texts >= {"a", "GPUs there", "waited for", "held"}


def test_a_name_is_no_markup() -> None:
    """Names come from files."""
    stay, node = Stay('n/<b>&"', "<i>", 1, 0.0, 10.0), NodeLife("<i>", "<T>", 1, 0.0, 10.0)
    root = ET.fromstring(picture(Lived((), (), [stay], [node], 10.0, ())))  # noqa: S314 - ours
    [title] = root.iter("{http://www.w3.org/2000/svg}title")
    assert title.text == 'n/<b>&": 1 × <T>'
