"""What users name and write is text, however it is meant; nobody plans here, so that it stays."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.page_visit import OpenPage, Visit
from support.clusters.scene import Scene
from support.objects.job_manifests import a_queue, a_training_job

pytestmark = pytest.mark.slow

SCRIPT = "<img src=x onerror=document.title='taken'><script>document.title='taken'</script>"
BACKWARDS = "\u202egnp.exe"
LONG = "q" * 253
TEXTS = {"script": SCRIPT, "backwards": BACKWARDS, "template": "${document.title='taken'}"}


@pytest.fixture
def scene(api: ApiServer, namespace: str) -> Scene:
    return Scene(api, namespace)


@pytest.fixture
def page(scene: Scene, open_page: OpenPage, admin_token: str) -> Iterator[Visit]:
    del scene
    with open_page() as visited:
        visited.sign_in(admin_token)
        yield visited
        assert visited.said == []
        assert visited.page.title() != "taken"


def says(scene: Scene, job: Manifest, **status: object) -> None:
    path = scene.path(job["kind"], job["metadata"]["name"])
    scene.api.merge(f"{path}/status", {"status": status})


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_a_job_says_is_shown_as_it_is_written(scene: Scene, page: Visit, text: str) -> None:
    job = a_training_job("train", work={"amount": "10", "unit": text[:63]})
    scene.apply(job)
    says(scene, job, message=text, reason="Pending")
    page.go("queue")
    sentence = page.main.locator("bdi.sentence").filter(has_text=re.compile(re.escape(text)))
    expect(sentence).to_have_count(1)
    assert sentence.inner_html() == sentence.evaluate("e => new Option(e.textContent).innerHTML")
    page.go("jobs", "TrainingJob", scene.namespace, "train")
    expect(page.main).to_contain_text(text)
    assert page.main.locator("img:not([role]), script").count() == 0


def test_a_long_name_does_not_widen_the_page(scene: Scene, page: Visit) -> None:
    scene.add_nodes(fake_node("n" * 253, labels={"kubernetes.io/hostname": "long"}))
    scene.apply(a_queue(LONG, guaranteed=1), a_training_job("a" * 40, queue=LONG))
    page.go("queue")
    expect(page.main.get_by_title(LONG).first).to_be_visible()
    assert page.overflow() <= 0
    page.go("map")
    node = page.main.get_by_role("button", name=re.compile("^nnn"))
    node.focus()
    expect(page.page.get_by_role("complementary").get_by_title("n" * 253)).to_be_visible()
    assert page.overflow() <= 0


def test_a_name_in_the_address_is_no_markup(page: Visit) -> None:
    page.go("jobs", "TrainingJob", SCRIPT, BACKWARDS)
    expect(page.page.get_by_role("alert")).to_be_visible()
    assert page.main.locator("img:not([role]), script").count() == 0
