"""The console's page in a real browser, as its user has it."""

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, ViewportSize, expect

from plimsoll_devcluster.waiting import PATIENCE

SECONDS: Final = 20
API: Final = "/api/v1/"
NOT_LOADED: Final = "Failed to load resource"
SERIOUS: Final = {"serious", "critical"}
Colours = Literal["light", "dark"]
DESK: Final[ViewportSize] = {"width": 1280, "height": 900}
PHONE: Final[ViewportSize] = {"width": 390, "height": 844}
_VIOLATIONS: Final = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`forbidden by ${event.effectiveDirective}: ${event.blockedURI} ${event.sample}`);
});
"""

expect.set_options(timeout=SECONDS * PATIENCE * 1000)


@dataclass(slots=True)
class Visit:
    """A page that is open. `said` are the errors that the browser has told of."""

    page: Page
    url: str
    said: list[str] = field(default_factory=list[str])

    @property
    def main(self) -> Locator:
        """The view."""
        return self.page.get_by_role("main")

    def sign_in(self, token: str) -> None:
        """Open the page as `plimsoll ui` does, and wait for what it shows."""
        self.page.goto(f"{self.url}/#token={token}")
        expect(self.page.get_by_role("status")).to_have_text("Live")

    def go(self, *parts: str) -> None:
        """Go to a view, and wait until it has come."""
        self.page.evaluate(
            "parts => { location.hash = '/' + parts.map(encodeURIComponent).join('/') }",
            list(parts),
        )
        expect(self.main.locator("[aria-busy=true]")).to_have_count(0)
        expect(self.main.locator("h1")).to_be_attached()

    def table(self, name: str) -> Locator:
        """The rows of a table, the first of which is its head."""
        return self.page.get_by_role("table", name=name, exact=True).get_by_role("row")

    def findings(self) -> dict[str, list[str]]:
        """What axe-core finds serious or critical: where, by rule."""
        options = {"resultTypes": ["violations"]}
        found: Mapping[str, Any] = self.page.evaluate("options => axe.run(options)", options)
        return {
            each["id"]: [json.dumps(node["target"]) for node in each["nodes"]]
            for each in found["violations"]
            if each["impact"] in SERIOUS
        }

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        return int(
            self.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
        )


OpenPage = Callable[..., AbstractContextManager[Visit]]
"""Opens the page of a console: see `visit`."""


@contextmanager
def visit(
    browser: Browser,
    url: str,
    axe: Path | None = None,
    *,
    colours: Colours = "light",
    size: ViewportSize = DESK,
) -> Generator[Visit]:
    """A page in a browser's profile of its own; `findings` needs axe-core."""
    context = browser.new_context(color_scheme=colours, viewport=size, reduced_motion="reduce")
    context.set_default_timeout(SECONDS * PATIENCE * 1000)
    # As a script of the browser's own: what the page itself loads is held to its policy.
    if axe is not None:
        context.add_init_script(path=axe)
    context.add_init_script(_VIOLATIONS)
    page = context.new_page()
    visited = Visit(page, url)
    page.on("console", partial(_note, visited))
    page.on("pageerror", lambda error: visited.said.append(str(error)))
    try:
        yield visited
    finally:
        context.close()


def _note(visited: Visit, message: ConsoleMessage) -> None:
    # What the API refuses, the page says itself.
    is_answer = API in message.location["url"] and message.text.startswith(NOT_LOADED)
    if message.type in ("error", "warning") and not is_answer:
        visited.said.append(f"{message.type}: {message.text}")
