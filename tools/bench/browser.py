"""JupyterLab in a real browser: how long until the panel shows the cluster and the tasks."""

from __future__ import annotations

import re
import shutil
import time
from typing import TYPE_CHECKING

from bench.figures import Report
from e2e.conftest import Platform

if TYPE_CHECKING:
    from playwright.sync_api import Page

TOPIC = "JupyterLab in a browser"
LOADS = 4
SLOW = 60_000
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def measure(report: Report, platform: Platform, tasks: str) -> None:
    """Load JupyterLab several times, with a list of that many tasks."""
    if CHROMIUM is None:
        report.skip(TOPIC, "no Chromium on this machine: install the package chromium")
        return
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        report.skip(TOPIC, "the Python package playwright is not installed")
        return
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            _measure(report, platform, page, tasks)
            browser.close()
    except Error as error:
        report.skip(f"{TOPIC}, {tasks}", error.message.splitlines()[0])


def _measure(report: Report, platform: Platform, page: Page, tasks: str) -> None:
    page.goto(platform.url)
    page.fill("#username_input", "ann")
    page.fill("#password_input", "a long enough word")
    began = time.perf_counter()
    page.click("#login_submit")
    page.wait_for_url(re.compile("/user/ann/lab"), timeout=2 * SLOW)
    page.locator(".jp-Launcher").wait_for(timeout=SLOW)
    report.add(TOPIC, f"{tasks}: log-in to the launcher", time.perf_counter() - began, "s", "starts the Lab server")
    _filled(page)
    page.wait_for_timeout(3000)  # until Lab has saved its layout, with the panel open
    launchers, panels = [], []
    for _ in range(LOADS):
        began = time.perf_counter()
        page.reload(wait_until="commit")
        page.locator(".jp-Launcher").wait_for(timeout=SLOW)
        launchers.append(time.perf_counter() - began)
        _filled(page)
        panels.append(time.perf_counter() - began)
    report.spread(TOPIC, f"{tasks}: load to the launcher", launchers)
    report.spread(TOPIC, f"{tasks}: load to a filled panel", panels)


def _filled(page: Page) -> None:
    page.get_by_test_id("hai-cluster").wait_for(timeout=SLOW)
    page.get_by_test_id("hai-quota").wait_for(timeout=SLOW)
    page.get_by_test_id("hai-tasks").get_by_test_id(re.compile("hai-task-row-")).first.wait_for(timeout=SLOW)
