"""The page of the service in a real browser: from the Hub's menu to a stopped task by keyboard, and what goes wrong."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from e2e.conftest import ROOT, Platform
from hai_client import TaskRequest
from kit.waiting import wait_for

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
AXE = ROOT / "lab_extension" / "node_modules" / "axe-core" / "axe.min.js"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: install the package chromium"),
]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
#: Milliseconds after which what has not come never will, on a busy machine too.
SLOW = 180_000
LOOP = ("python", "-c", "import time\nfor n in range(10**6): print('step', n, flush=True); time.sleep(0.2)")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium for all tests here."""
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield made
        made.close()


class Visit:
    """A user's browser: its page, and what a browser complains about."""

    def __init__(self, browser: Browser, platform: Platform, user: str, password: str) -> None:
        self.context = browser.new_context(viewport={"width": 1400, "height": 900})
        self.page = self.context.new_page()
        self.platform = platform
        #: Violations of the Content-Security-Policy, and errors of scripts.
        self.complaints: list[str] = []
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(f"{platform.url}/hub/home")
        self.page.fill("#username_input", user)
        self.page.fill("#password_input", password)
        self.page.click("#login_submit")
        self.page.locator("#login_widget", has_text=user).wait_for(timeout=SLOW)

    def _listen(self, message: object) -> None:
        text = str(getattr(message, "text", ""))
        if "Content Security Policy" in text or "Content-Security-Policy" in text:
            self.complaints.append(text)

    def open(self, path: str = "") -> Page:
        """Go to an address of the page."""
        self.page.goto(f"{self.platform.url}/services/hai/{path}")
        self.page.locator(".hai-Studio").wait_for(timeout=SLOW)
        return self.page


@pytest.fixture(scope="module")
def ann(browser: Browser, platform: Platform) -> Iterator[Visit]:
    """Ann, who is an administrator, and never starts a server here."""
    visit = Visit(browser, platform, "ann", "a long enough word")
    yield visit
    assert visit.complaints == []
    visit.context.close()


@pytest.fixture(scope="module")
def loop(platform: Platform) -> int:
    """A task that runs."""
    task = platform.client().submit(TaskRequest(name="page-loop", command=LOOP, cwd="/", nodes=2, profile="kill"))
    wait_for("it runs", lambda: platform.json("status", "page-loop")["state"] == "running")
    return task.id


def shot(page: Page, tmp_path: Path, name: str) -> None:
    """Keep a picture for people to look at."""
    page.screenshot(path=str(tmp_path / f"{name}.png"))


def test_the_hub_names_the_platform_and_leads_to_the_page(ann: Visit, loop: int, tmp_path: Path) -> None:
    page = ann.page
    page.goto(f"{ann.platform.url}/hub/home")
    logo = page.locator("#jupyterhub-logo img")
    assert logo.evaluate("image => image.complete && image.naturalWidth > 0"), "the platform's logo is shown"
    page.get_by_role("button", name="Services").click()
    page.get_by_role("link", name="hai", exact=True).click()
    expect(page.get_by_test_id("hai-figures")).to_contain_text("2 of 4", timeout=SLOW)
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible(timeout=SLOW)
    shot(page, tmp_path, "overview")
    page.get_by_role("navigation").get_by_role("link", name="Tasks").click()
    expect(page.get_by_test_id("hai-tasks-table")).to_contain_text("page-loop", timeout=SLOW)
    assert page.url.endswith("/services/hai/tasks")
    shot(page, tmp_path, "tasks")


def test_filters_are_in_the_address(ann: Visit, loop: int) -> None:
    page = ann.open("tasks?state=running&q=page")
    expect(page.get_by_test_id("hai-tasks-table")).to_contain_text("page-loop", timeout=SLOW)
    page.get_by_label("Filter tasks").fill("nothing is called so")
    expect(page.get_by_text("No task matches these filters.")).to_be_visible()
    assert "q=nothing+is+called+so" in page.url
    page.reload()
    expect(page.get_by_label("Filter tasks")).to_have_value("nothing is called so", timeout=SLOW)


def test_what_changes_elsewhere_is_on_the_screen_at_once(ann: Visit, platform: Platform) -> None:
    page = ann.open("tasks")
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible(timeout=SLOW)
    platform.client().submit(TaskRequest(name="page-new", command=("true",), cwd="/", nodes=1, profile="kill"))
    expect(page.get_by_test_id("hai-tasks-table")).to_contain_text("page-new", timeout=SLOW)
    row = page.get_by_role("row").filter(has_text="page-new")
    expect(row).to_contain_text("succeeded", timeout=SLOW)


def test_own_tasks_change_places_in_the_queue(ann: Visit, loop: int, platform: Platform) -> None:
    client = platform.client()
    ids = [client.submit(TaskRequest(name=name, command=LOOP, cwd="/", nodes=4)).id for name in ("page-a", "page-b")]
    try:
        page = ann.open("")
        page.get_by_role("button", name="Move page-b before page-a").click(timeout=SLOW)
        rows = page.get_by_test_id("hai-queue").locator("tbody tr")
        expect(rows.nth(0)).to_contain_text("page-b", timeout=SLOW)
        expect(page.get_by_role("button", name="Move page-b after page-a")).to_be_focused(timeout=SLOW)
        page.reload()
        expect(rows.nth(0)).to_contain_text("page-b", timeout=SLOW)
    finally:
        for task in ids:
            client.stop(task)


def test_an_admin_sees_what_a_cordon_would_do_and_takes_it_back(ann: Visit, loop: int, tmp_path: Path) -> None:
    page = ann.open("nodes")
    cells = page.get_by_role("listbox", name=re.compile("^Nodes of ")).get_by_role("option")
    cells.last.click(timeout=SLOW)
    page.get_by_role("button", name="Cordon 1").click()
    dialog = page.get_by_role("dialog", name="Cordon 1 node?")
    expect(dialog).to_contain_text("No task has to leave.", timeout=SLOW)
    shot(page, tmp_path, "cordon")
    dialog.get_by_role("button", name="Cordon").click()
    page.get_by_role("button", name="cordoned 1").click(timeout=SLOW)
    assert page.url.endswith("nodes?state=cordoned")
    expect(cells).to_have_count(1)
    cells.click()
    expect(page.get_by_test_id("hai-node")).to_contain_text("Admin ann has cordoned it.")
    page.get_by_role("button", name="Uncordon 1").click()
    expect(page.get_by_text("No node matches these filters.")).to_be_visible(timeout=SLOW)


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: make check installs it")
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "path",
    [
        "",
        "tasks",
        "tasks/{loop}",
        "reports",
        "nodes",
        "notifications",
        "people",
        "people?user=ann",
        "policy",
        "storage?user=ann",
        "health",
        "health?runbook=HaiNodesLost",
        "audit",
    ],
)
def test_nothing_keeps_people_out(ann: Visit, loop: int, theme: str, path: str, tmp_path: Path) -> None:
    """axe-core finds nothing serious."""
    page = ann.open(path.format(loop=loop))
    page.get_by_label("Theme").select_option(theme)
    expect(page.get_by_text("Loading…")).to_have_count(0, timeout=SLOW)
    page.get_by_role("status").filter(has_text="Live").first.wait_for(timeout=SLOW)
    shot(page, tmp_path, f"axe-{theme}")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    serious = [
        f"{one['id']}: {one['help']} {[node['html'][:160] for node in one['nodes'][:3]]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


PRINTS = (
    "for n in range(30_000): print('needle' if n == 12_345 else 'line', n)\n"
    "for n in range(1000): print('\\r', n, end='')\n"
    "print('\\n\\x1b[31mred\\x1b[0m')"
)


def test_a_long_log_is_scrolled_searched_and_downloaded(ann: Visit, platform: Platform, tmp_path: Path) -> None:
    command = ("python", "-c", PRINTS)
    task = platform.client().submit(TaskRequest(name="page-prints", command=command, cwd="/", nodes=1))
    wait_for("it is over", lambda: platform.client().task(task.id).state == "succeeded")
    page = ann.open(f"tasks/{task.id}")
    log = page.get_by_test_id("hai-log")
    expect(log.get_by_text("red", exact=True)).to_have_class("hai-mod-front-red", timeout=SLOW)
    expect(log).to_contain_text("line 29999 999red")
    expect(page.get_by_test_id("hai-log-follow")).to_have_count(0)
    log.press("Home")
    expect(log.get_by_text("line 0", exact=True)).to_be_in_viewport(timeout=SLOW)
    log.press("End")
    expect(log.get_by_text("red", exact=True)).to_be_in_viewport(timeout=SLOW)
    # The middle, which no page that was read until now has.
    log.evaluate("node => { node.scrollTop = node.scrollHeight / 2; }")
    expect(log.get_by_text("line 15000", exact=True)).to_have_count(1, timeout=SLOW)
    page.get_by_test_id("hai-log-search").fill("needle")
    page.get_by_test_id("hai-log-search").press("Enter")
    page.get_by_test_id("hai-log-hit-next").click()
    expect(log.locator("[aria-current]")).to_have_text("needle 12345", timeout=SLOW)
    expect(log.get_by_text("line 12344", exact=True)).to_be_in_viewport()
    page.get_by_test_id("hai-log-enlarge").click()
    shot(page, tmp_path, "log")
    page.evaluate(AXE.read_text())
    found = page.evaluate("() => axe.run('.hai-LogView', { resultTypes: ['violations'] })")
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]] == []
    log.press("Escape")
    with page.expect_download() as kept:
        page.get_by_test_id("hai-log-download").click()
    lines = Path(kept.value.path()).read_text().splitlines()
    assert len(lines) == 30_000 + 2 + 2
    assert lines[12_346] == "needle 12345"
    assert lines[-3:-1] == [" 999", "\x1b[31mred\x1b[0m"]


def test_after_a_restart_of_the_service_the_page_is_right_again(ann: Visit, platform: Platform) -> None:
    page = ann.open("tasks")
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible(timeout=SLOW)
    before = platform.service_pid()
    os.kill(before, signal.SIGKILL)
    # The client tries again while the service starts.
    platform.client().submit(TaskRequest(name="page-after", command=("true",), cwd="/", nodes=1, profile="kill"))
    expect(page.get_by_test_id("hai-tasks-table")).to_contain_text("page-after", timeout=SLOW)
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible(timeout=SLOW)


def test_a_task_is_found_and_stopped_by_keyboard(ann: Visit, loop: int, platform: Platform, tmp_path: Path) -> None:
    page = ann.open("tasks")
    page.get_by_test_id("hai-tasks-table").wait_for(timeout=SLOW)
    press_until(page, "Tab", "page-loop")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/services/hai/tasks/{loop}$"))
    expect(page.get_by_test_id("hai-log")).to_contain_text("step", timeout=SLOW)
    shot(page, tmp_path, "task")
    press_until(page, "Tab", "Stop")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name=re.compile("Stop page-loop"))
    expect(dialog).to_be_visible()
    shot(page, tmp_path, "dialog")
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    assert platform.json("status", "page-loop")["state"] == "running", "a hasty Enter changes nothing"
    press_until(page, "Tab", "Stop")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    press_until(page, "Tab", "Stop")
    page.keyboard.press("Enter")
    press_until(page, "Tab", "Stop it")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("hai-task-state")).to_have_text(re.compile("stopped"), timeout=SLOW)


def press_until(page: Page, key: str, name: str, most: int = 120) -> None:
    """Press a key until the element with that text has the focus."""
    for _ in range(most):
        page.keyboard.press(key)
        if page.evaluate("() => document.activeElement?.textContent?.trim()") == name:
            return
    pytest.fail(f"{name} never had the focus")


def test_a_user_is_offered_no_pages_for_admins_and_is_refused_by_the_service(
    browser: Browser, platform: Platform
) -> None:
    password = platform.json("admin", "user", "add", "bob")["password"]
    bob = Visit(browser, platform, "bob", password)
    page = bob.open("tasks?whose=all")
    names = page.get_by_role("navigation").get_by_role("link").all_text_contents()
    assert not {"People", "Policy", "Storage", "Audit", "Health"} & set(names)
    expect(page.get_by_label("Whose tasks")).to_have_count(0)
    expect(page.get_by_text("page-loop")).to_have_count(0)
    status = page.evaluate(
        """async () => {
            const proof = document.cookie.match(/_xsrf=([^;]+)/)[1];
            const answer = await fetch('/services/hai/api/v1/mounts', { headers: { 'X-XSRFToken': proof } });
            return answer.status;
        }"""
    )
    assert status == 403
    assert bob.complaints == []
    bob.context.close()


def test_an_ended_login_is_told_with_a_link_to_another(browser: Browser, platform: Platform) -> None:
    visit = Visit(browser, platform, "ann", "a long enough word")
    page = visit.open("tasks?state=ended")
    page.locator(".hai-Studio-page h1").wait_for()
    visit.context.clear_cookies(name="service-hai")
    page.get_by_role("navigation").get_by_role("link", name="Overview").click()
    link = page.get_by_test_id("hai-log-in")
    expect(link).to_be_visible(timeout=SLOW)
    link.click()
    expect(page.get_by_test_id("hai-figures")).to_be_visible(timeout=SLOW)
    assert visit.complaints == []
    visit.context.close()
