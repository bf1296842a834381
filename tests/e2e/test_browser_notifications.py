"""Notifications in real browsers: on the page, and by the browser once for all hidden tabs; rules by a click."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from e2e.conftest import Platform
from e2e.test_browser_studio import CHROMIUM, SLOW, Visit, browser
from hai_client import TaskRequest
from kit.waiting import wait_for

__all__ = ["browser"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: install the package chromium"),
]
#: Notes down what the browser shows, and lets a test hide tabs: without windows all of them are seen.
INSTRUMENTS = """
window.shown = [];
const Real = window.Notification;
window.Notification = class extends Real {
    constructor(title, options) { super(title, options); window.shown.push(options.body); }
};
window.isHidden = false;
Object.defineProperty(document, 'hidden', { configurable: true, get: () => window.isHidden });
window.hide = hidden => { window.isHidden = hidden; document.dispatchEvent(new Event('visibilitychange')); };
"""
FAILS = ("python", "-c", "raise ValueError('loss is nan')")


@pytest.fixture(scope="module")
def ann(browser: Browser, platform: Platform) -> Iterator[Visit]:
    """Ann, whose browser may show notifications."""
    visit = Visit(browser, platform, "ann", "a long enough word")
    visit.context.grant_permissions(["notifications"], origin=platform.url)
    visit.context.add_init_script(INSTRUMENTS)
    yield visit
    assert visit.complaints == []
    visit.context.close()


def fail(platform: Platform, name: str) -> None:
    """Run a task that fails, and wait until it has."""
    task = platform.client().submit(TaskRequest(name=name, command=FAILS, cwd="/", nodes=1, profile="kill"))
    wait_for("it failed", lambda: platform.json("status", str(task.id))["state"] == "failed")


def live(page: Page) -> None:
    """Wait until the page hears of changes at once."""
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible(timeout=SLOW)


def test_a_failure_is_said_in_the_corner_with_a_way_to_the_task(ann: Visit, platform: Platform) -> None:
    page = ann.open("notifications")
    live(page)
    fail(platform, "told-once")
    toast = page.locator(".hai-Toast", has_text="(told-once) has failed")
    expect(toast).to_have_count(1, timeout=SLOW)
    told = page.get_by_test_id("hai-told").get_by_role("listitem").filter(has_text="told-once")
    expect(told).to_contain_text("new", timeout=SLOW)
    expect(told).to_contain_text("ValueError: loss is nan")
    page.get_by_role("button", name="Mark all as read").click()
    expect(page.get_by_text("All are read.")).to_be_visible(timeout=SLOW)
    fail(platform, "told-again")
    page.locator(".hai-Toast", has_text="told-again").get_by_role("button", name="Open the task").click(timeout=SLOW)
    expect(page).to_have_url(re.compile(r"/services/hai/tasks/\d+$"))
    assert page.evaluate("window.shown") == [], "the user saw the tab"


def test_the_browser_shows_it_once_for_all_hidden_tabs(ann: Visit, platform: Platform) -> None:
    first = ann.open("notifications")
    second = ann.context.new_page()
    second.goto(f"{platform.url}/services/hai/tasks")
    for page in (first, second):
        live(page)
        page.evaluate("hide(true)")
    fail(platform, "told-outside")

    def shown() -> list[str]:
        return [text for page in (first, second) for text in page.evaluate("window.shown") if "told-outside" in text]

    wait_for("the browser shows it", lambda: shown() != [])
    # Who comes back sees it in the corner: by then the other tab has heard of it too.
    second.evaluate("hide(false)")
    expect(second.locator(".hai-Toast", has_text="told-outside")).to_have_count(1, timeout=SLOW)
    assert len(shown()) == 1
    second.close()


def test_what_is_clicked_is_what_the_command_shows(ann: Visit, platform: Platform) -> None:
    page = ann.open("notifications")
    page.get_by_label("A task begins its first run: JupyterLab and Studio").click(timeout=SLOW)

    def channels() -> list[str]:
        rules = platform.json("notify")["rules"]
        return next(rule["channels"] for rule in rules if rule["kind"] == "started")

    wait_for("the rule is written", lambda: channels() == ["lab"])
    channel = page.get_by_test_id("hai-channel-webhook")
    channel.get_by_label("Webhook address").fill("https://127.0.0.1/hai")
    channel.get_by_role("button", name="Save").click()
    expect(channel.get_by_role("alert")).to_contain_text("not on the open Internet", timeout=SLOW)
