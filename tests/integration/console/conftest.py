"""A console beside the operator, and users who ask it."""

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import pytest
import yaml
from playwright.sync_api import Browser, sync_playwright

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.leftovers import cluster_objects, remove_new_objects
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.console_process import ConsoleProcess
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.page_visit import OpenPage, Visit, visit
from plimsoll_devcluster.programs.axe_script import find_axe
from plimsoll_devcluster.programs.chromium_program import find_chromium
from plimsoll_devcluster.service_accounts import add_account, remove_cluster_rights
from support.clusters import busy_cluster
from support.clusters.console_users import Asking, MakeUser
from support.clusters.scene import Scene
from support.clusters.tenants import fresh_namespace


@pytest.fixture(scope="module")
def console(
    control_plane: Cluster,
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ConsoleProcess]:
    """One console for all tests of a module.

    CONSOLE_ENVIRONMENT of the module adds to its environment; {folder} in it is one of its own.
    """
    module = cast("object", request.module)  # pyright: ignore[reportUnknownMemberType] - untyped
    given: Mapping[str, str] = getattr(module, "CONSOLE_ENVIRONMENT", {})
    folder = tmp_path_factory.mktemp("console")
    environment = {name: value.format(folder=folder) for name, value in given.items()}
    with ConsoleProcess(control_plane.kubeconfig, environment) as process:
        yield process
        assert process.stop() == 0


@pytest.fixture
def a_user(api: ApiServer, namespace: str, console: ConsoleProcess) -> Iterator[MakeUser]:
    """Makes users with rights in the cluster and in the test's namespace."""
    made: list[str] = []

    def make(everywhere: Sequence[Manifest] = (), here: Sequence[Manifest] = ()) -> Asking:
        name = f"user-{secrets.token_hex(4)}"
        made.append(name)
        rules = {"cluster_rules": everywhere, "own_rules": here}
        token = add_account(api, name, namespace, **rules)
        return Asking(console, token, name, namespace)

    yield make
    for name in made:
        remove_cluster_rights(api, name)


@pytest.fixture(scope="session")
def axe() -> Path:
    """axe-core, which looks for what keeps people from using a page."""
    return find_axe(os.environ)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium without a window; while it is there, no other event loop can run."""
    program = find_chromium(os.environ)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def busy(
    control_plane: Cluster, operator: OperatorProcess, console: ConsoleProcess
) -> Iterator[Scene]:
    """A hundred nodes with jobs, for all tests of a module, which leave them as they are."""
    del console  # it stands by from the first node on
    api = control_plane.api
    before = cluster_objects(api)
    with fresh_namespace(api, "busy") as name:
        scene = Scene(api, name, operator)
        busy_cluster.fill(scene)
        yield scene
    remove_new_objects(api, before)


@pytest.fixture
def open_page(browser: Browser, console: ConsoleProcess, axe: Path) -> OpenPage:
    """Opens the console's page; whoever opens it signs in."""
    return partial(visit, browser, console.url, axe)


@pytest.fixture(scope="session")
def admin_token(control_plane: Cluster) -> str:
    """The token of one who may see everything."""
    config = yaml.safe_load(control_plane.kubeconfig.read_text())
    return str(config["users"][0]["user"]["token"])


@pytest.fixture
def page(busy: Scene, open_page: OpenPage, admin_token: str) -> Iterator[Visit]:
    """The page of the busy cluster, signed in; the browser must have nothing to complain of."""
    del busy
    with open_page() as visited:
        visited.sign_in(admin_token)
        yield visited
        assert visited.said == []
