"""A researcher's way through JupyterLab in a real browser: log in, submit a file, watch its log, stop it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from e2e.conftest import Platform, wait_for
from hai_client import TaskRequest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: install the package chromium"),
]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SLOW = 60_000
TRAINING = """
import itertools, time
for step in itertools.count():
    print(f"step {step}", flush=True)
    time.sleep(0.2)
"""


@pytest.fixture(scope="module")
def page(platform: Platform) -> Iterator[Page]:
    """Ann's JupyterLab, logged in through the Hub, with a training script in her folder."""
    home = platform.state / "home" / "ann"
    home.mkdir(parents=True, exist_ok=True)
    (home / "train.py").write_text(TRAINING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        failures: list[str] = []
        page.on("response", lambda r: failures.append(f"{r.status} {r.url}") if r.status >= 500 else None)
        page.goto(platform.url)
        page.fill("#username_input", "ann")
        page.fill("#password_input", "a long enough word")
        page.click("#login_submit")
        page.wait_for_url(re.compile("/user/ann/lab"), timeout=2 * SLOW)
        page.locator(".jp-Launcher").wait_for(timeout=SLOW)
        yield page
        browser.close()
        assert failures == []


def shot(page: Page, tmp_path: Path, name: str) -> None:
    """Keep a picture for people to look at."""
    page.screenshot(path=str(tmp_path / f"{name}.png"))


def open_panel(page: Page) -> None:
    """Show the panel, once Lab has restored its layout; a click on an open one would close it."""
    page.locator('[data-testid="hai-task-state"]:visible').first.wait_for(timeout=SLOW)
    tab = page.locator('.lm-TabBar-tab[data-id="hai-panel"]')
    if "lm-mod-current" not in (tab.get_attribute("class") or ""):
        tab.click()


def test_submit_a_file_watch_its_log_and_stop_it(page: Page, platform: Platform, tmp_path: Path) -> None:
    page.locator('[data-id="hai-panel"]').click()
    expect(page.get_by_test_id("hai-cluster")).to_contain_text("4 of 4 free", timeout=SLOW)
    expect(page.get_by_test_id("hai-quota")).to_be_visible()

    page.locator('[data-id="filebrowser"]').click()
    page.locator(".jp-DirListing-item", has_text="train.py").click(button="right")
    page.locator(".lm-Menu-itemLabel", has_text="Submit to HAI").click()
    form = page.get_by_test_id("hai-submit-form")
    form.wait_for()
    form.locator('[name="name"]').fill("not a name!")
    page.locator(".jp-Dialog .jp-mod-accept").click()
    expect(form).to_contain_text("name", ignore_case=True)
    expect(form).to_be_visible()
    form.locator('[name="name"]').fill("from-lab")
    form.locator('[name="nodes"]').fill("2")
    shot(page, tmp_path, "form")
    page.locator(".jp-Dialog .jp-mod-accept").click()
    shot(page, tmp_path, "sent")
    form.wait_for(state="detached")

    expect(page.get_by_test_id("hai-task-state")).to_have_text(re.compile("running"), timeout=SLOW)
    expect(page.get_by_test_id("hai-log")).to_contain_text("step 3", timeout=SLOW)
    page.locator('[data-id="hai-panel"]').click()
    expect(page.get_by_test_id("hai-cluster")).to_contain_text("2 of 4 free")
    shot(page, tmp_path, "task")

    page.get_by_test_id("hai-stop").click()
    page.locator(".jp-Dialog .jp-mod-accept").click()
    expect(page.get_by_test_id("hai-task-state")).to_have_text(re.compile("stopped"), timeout=SLOW)
    expect(page.get_by_test_id("hai-log")).to_contain_text("stopped", timeout=SLOW)
    assert platform.json("status", "from-lab")["nodes"] == 2


def test_a_waiting_task_says_why_and_what_would_let_it_start(page: Page, platform: Platform, tmp_path: Path) -> None:
    client = platform.client()
    loop = ("python", "-c", "import time; time.sleep(600)")
    client.submit(TaskRequest(name="holds-all", command=loop, cwd="/", nodes=4, profile="kill"))
    wait_for("the first task runs", lambda: platform.json("status", "holds-all")["state"] == "running")
    client.submit(TaskRequest(name="wants-two", command=loop, cwd="/", nodes=2, profile="kill"))

    open_panel(page)
    row = page.get_by_test_id("hai-tasks").get_by_text("wants-two")
    row.wait_for(timeout=SLOW)
    row.click()
    view = page.get_by_label("wants-two")
    expect(view.get_by_test_id("hai-task-why")).to_contain_text("Needs 2 nodes but none is free", timeout=SLOW)
    expect(view.get_by_test_id("hai-task-what-if")).to_contain_text("ABOVE_NORMAL", timeout=SLOW)
    shot(page, tmp_path, "why")

    view.get_by_test_id("hai-decisions").locator("summary").click()
    expect(view.get_by_test_id("hai-decisions")).to_contain_text("Needs 2 nodes", timeout=SLOW)
    shot(page, tmp_path, "decisions")
    for name in ("wants-two", "holds-all"):
        platform.hai("stop", name)


def test_the_panel_stays_quick_with_a_thousand_tasks(page: Page, platform: Platform, tmp_path: Path) -> None:
    client = platform.client()

    def submit(number: int) -> None:
        client.submit(TaskRequest(name=f"t{number}", command=("true",), cwd="/", hold=True))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(submit, range(1000)))
    page.reload()
    panel = page.get_by_test_id("hai-tasks")
    open_panel(page)
    rows = panel.get_by_test_id(re.compile("hai-task-row-"))
    expect(rows.first).to_be_visible(timeout=SLOW)
    assert rows.count() <= 250, "a list of a thousand is shown in part"
    assert len(platform.json("list", "-n", "1000")["items"]) == 1000
    shot(page, tmp_path, "many")
