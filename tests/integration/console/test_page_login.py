"""Who comes to the page: with a token, without one, and with one that is no longer taken."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.processes.page_visit import OpenPage, Visit
from plimsoll_devcluster.service_accounts import remove_cluster_rights
from support.clusters.console_users import JOBS, NODES, Asking, MakeUser
from support.clusters.scene import Scene
from support.objects.job_manifests import a_training_job


@pytest.fixture
def stranger(api: ApiServer, open_page: OpenPage) -> Iterator[Visit]:
    """The page of one who has not signed in."""
    del api
    with open_page() as visited:
        yield visited


@pytest.fixture
def viewer(a_user: MakeUser) -> Asking:
    return a_user(everywhere=[JOBS, NODES])


def test_a_stranger_is_asked_for_a_token_and_shown_nothing(stranger: Visit) -> None:
    stranger.page.goto(stranger.url)
    expect(stranger.page.get_by_label("Token")).to_be_focused()
    expect(stranger.page.get_by_role("navigation")).to_have_count(0)
    assert stranger.said == []


def test_a_token_signs_in_by_the_keyboard(stranger: Visit, viewer: Asking) -> None:
    stranger.page.goto(stranger.url)
    expect(stranger.page.get_by_label("Token")).to_be_focused()
    stranger.page.keyboard.insert_text(f" Bearer {viewer.token}\n")
    stranger.page.keyboard.press("Enter")
    expect(stranger.page.get_by_role("status")).to_have_text("Live")
    expect(stranger.page.get_by_role("banner")).to_contain_text(viewer.name)


def test_a_wrong_token_is_refused_and_forgotten(stranger: Visit) -> None:
    stranger.page.goto(stranger.url)
    stranger.page.get_by_label("Token").fill("nonsense")
    stranger.page.get_by_role("button", name="Sign in").click()
    expect(stranger.page.get_by_role("alert")).to_contain_text("not valid")
    expect(stranger.page.get_by_role("navigation")).to_have_count(0)
    assert stranger.page.evaluate("sessionStorage.length") == 0


def test_a_token_in_the_address_is_gone_from_it_at_once(stranger: Visit, viewer: Asking) -> None:
    stranger.sign_in(viewer.token)
    assert viewer.token not in stranger.page.url
    stranger.page.go_back()
    assert viewer.token not in stranger.page.url


@pytest.mark.slow
def test_a_token_stays_in_its_tab(stranger: Visit, viewer: Asking) -> None:
    stranger.sign_in(viewer.token)
    other = stranger.page.context.new_page()
    other.goto(stranger.url)
    expect(other.get_by_label("Token")).to_be_visible()


def test_signing_out_forgets_the_token(stranger: Visit, viewer: Asking) -> None:
    stranger.sign_in(viewer.token)
    stranger.page.get_by_role("button", name="Sign out").click()
    stranger.page.reload()
    expect(stranger.page.get_by_label("Token")).to_be_visible()


@pytest.mark.slow
def test_one_whose_account_is_deleted_is_signed_out(
    stranger: Visit, viewer: Asking, api: ApiServer
) -> None:
    stranger.sign_in(viewer.token)
    api.delete(f"/api/v1/namespaces/{viewer.namespace}/serviceaccounts/{viewer.name}")
    expect(stranger.page.get_by_role("alert")).to_contain_text("no longer")
    expect(stranger.page.get_by_label("Token")).to_be_visible()


@pytest.mark.slow
def test_what_may_be_seen_no_longer_is_taken_from_the_page(
    stranger: Visit, viewer: Asking, api: ApiServer
) -> None:
    Scene(api, viewer.namespace).apply(a_training_job("merger"))
    stranger.sign_in(viewer.token)
    stranger.go("jobs", "TrainingJob", viewer.namespace, "merger")
    heading = stranger.main.get_by_role("heading", name="merger")
    expect(heading).to_be_visible()
    remove_cluster_rights(api, viewer.name)
    expect(heading).to_have_count(0)
    expect(stranger.main.get_by_role("alert")).to_be_visible()


def test_one_with_no_rights_sees_that_much(stranger: Visit, a_user: MakeUser) -> None:
    stranger.sign_in(a_user().token)
    for view in ("queue", "power"):
        stranger.go(view)
        expect(stranger.main.get_by_text(re.compile("shown to you")).first).to_be_visible()
