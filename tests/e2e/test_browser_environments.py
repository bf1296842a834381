"""An environment in a real browser: made in the view, a kernel in the Launcher at once, used by a notebook."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from e2e.conftest import Platform
from e2e.test_browser import CHROMIUM, FLAGS, SLOW, START, shot
from integration.haienv.conftest import make_wheel
from kit.wheelhouse import wheels_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: install the package chromium"),
]
#: The command haienv of ann's server finds packages in a folder, and nothing on the network.
OVERRIDES = """
[HaiLocalSpawner.environment]
UV_OFFLINE = "1"
UV_FIND_LINKS = "{wheels}"
UV_CACHE_DIR = "{cache}"
UV_PYTHON = "{python}"
UV_PYTHON_DOWNLOADS = "never"
"""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform whose users build from a folder of wheels."""
    home = tmp_path_factory.mktemp("platform")
    wheels = home / "wheels"
    wheels_of(wheels, "ipykernel")
    for version in ("1.0", "2.0"):
        make_wheel(wheels, "alpha", version)
    overrides = home / "hub.toml"
    overrides.write_text(OVERRIDES.format(wheels=wheels, cache=home / "cache", python=sys.executable))
    made = Platform(home, nodes=2, options=("--hub-config", str(overrides)))
    try:
        made.start()
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def page(platform: Platform) -> Iterator[Page]:
    """Ann's JupyterLab, with the Launcher open."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_context(viewport={"width": 1400, "height": 1000}).new_page()
        failures: list[str] = []
        page.on("response", lambda r: failures.append(f"{r.status} {r.url}") if r.status >= 500 else None)
        page.goto(platform.url)
        page.fill("#username_input", "ann")
        page.fill("#password_input", "a long enough word")
        page.click("#login_submit")
        page.wait_for_url(re.compile(r"/user/ann/lab|/hub/spawn"), timeout=2 * SLOW)
        if page.locator(START).count():
            page.click(START)
        page.wait_for_url(re.compile("/user/ann/lab"), timeout=2 * SLOW)
        page.locator(".jp-Launcher").wait_for(timeout=SLOW)
        yield page
        browser.close()
        assert failures == []


def test_an_environment_is_made_becomes_a_kernel_and_runs_a_notebook(
    page: Page, platform: Platform, tmp_path: Path
) -> None:
    # The panel is open at the first visit.
    page.get_by_test_id("hai-environments-open").click(timeout=SLOW)
    view = page.get_by_test_id("hai-environments")
    view.wait_for(timeout=SLOW)
    expect(view).to_contain_text("There are no environments yet", timeout=SLOW)

    page.get_by_test_id("hai-environment-new").click()
    form = page.get_by_test_id("hai-environment-form")
    form.locator('[name="name"]').fill("vision")
    form.locator('[name="requirements"]').fill("alpha==1.0  # a comment\n")
    shot(page, tmp_path, "create")
    page.get_by_test_id("hai-environment-create").click()
    expect(page.get_by_test_id("hai-build-log")).to_contain_text("resolving", timeout=SLOW)
    expect(page.get_by_test_id("hai-build-state")).to_have_text("Done", timeout=SLOW)
    row = page.get_by_test_id("hai-environment-list").locator("tbody tr")
    expect(row).to_contain_text("alpha==1.0", timeout=SLOW)
    expect(row).to_contain_text("mine")
    shot(page, tmp_path, "made")

    detail = page.get_by_test_id("hai-environment-detail")
    detail.locator('[name="install"]').fill("alpha==2.0")
    page.get_by_test_id("hai-environment-install").click()
    expect(page.get_by_test_id("hai-build-log")).to_contain_text("~ alpha 1.0 -> 2.0", timeout=SLOW)
    generations = page.get_by_test_id("hai-environment-generations")
    expect(generations).to_contain_text("2 (current)", timeout=SLOW)
    generations.get_by_role("button", name="Compare").click()
    expect(generations).to_contain_text("alpha 1.0 → 2.0", timeout=SLOW)
    shot(page, tmp_path, "compared")

    detail.locator('[name="install"]').fill("no-such-package-anywhere")
    page.get_by_test_id("hai-environment-install").click()
    expect(page.get_by_test_id("hai-build-state")).to_contain_text("Failed", timeout=SLOW)
    expect(page.get_by_test_id("hai-build-log")).to_contain_text("no-such-package-anywhere")
    shot(page, tmp_path, "failed")

    page.locator(".lm-TabBar-tab", has_text="Launcher").first.click()
    kernel = page.locator('.jp-LauncherCard[data-category="Notebook"]', has_text="vision (mine) 3.11")
    kernel.wait_for(timeout=SLOW)
    expect(kernel.locator("img, svg").first).to_be_visible()
    shot(page, tmp_path, "launcher")
    kernel.click()
    cell = page.locator(".jp-Notebook .jp-CodeCell .cm-content").first
    cell.wait_for(timeout=SLOW)
    # The indicator of the notebook says idle before the kernel is connected; the status bar does not.
    expect(page.locator("#jp-main-statusbar")).to_contain_text("vision (mine) 3.11 | Idle", timeout=SLOW)
    cell.click()
    code = "import alpha, os, shutil; print(alpha.VERSION, os.environ['HAIENV'], shutil.which('python'))"
    page.keyboard.insert_text(code)
    expect(cell).to_contain_text("alpha.VERSION")
    page.keyboard.press("Shift+Enter")
    out = page.locator(".jp-OutputArea-output").first
    prefix = platform.state / "haienv/users/ann/vision/generations/2/prefix"
    expect(out).to_contain_text("2.0 users/ann/vision@2", timeout=SLOW)
    expect(out).to_contain_text(str(prefix / "bin/python"))
    shot(page, tmp_path, "notebook")

    page.get_by_test_id("hai-submit-open").click()
    submit = page.get_by_test_id("hai-submit-form")
    save = page.locator(".jp-Dialog .jp-mod-accept", has_text="Save and go on")
    save.or_(submit).first.wait_for(timeout=SLOW)
    if save.is_visible():
        save.click()
    submit.wait_for(timeout=SLOW)
    submit.locator("summary").click()
    expect(submit.locator('[name="environment"]')).to_have_value("users/ann/vision@2")
    submit.locator('[name="name"]').fill("from-kernel")
    shot(page, tmp_path, "submit")
    page.locator(".jp-Dialog .jp-mod-accept").click()
    submit.wait_for(state="detached")
    expect(page.get_by_test_id("hai-task-state")).to_have_text(re.compile("succeeded"), timeout=SLOW)
    expect(page.get_by_test_id("hai-log")).to_contain_text("2.0 users/ann/vision@2")
    shot(page, tmp_path, "submitted")
    pinned = platform.json("status", "from-kernel")["haienv"]
    assert (pinned["name"], pinned["generation"]) == ("users/ann/vision", 2)


def test_what_is_published_elsewhere_is_in_the_launcher_within_a_second(
    page: Page, platform: Platform, tmp_path: Path
) -> None:
    base = platform.state / "haienv/base"
    kernel = base / "torch/generations/1/kernel"
    kernel.mkdir(parents=True)
    spec = {"argv": ["/nowhere/python"], "display_name": "torch (base) 3.11", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec))
    page.locator(".lm-TabBar-addButton:visible").click()
    page.locator(".jp-Launcher:visible").wait_for(timeout=SLOW)
    card = page.locator('.jp-LauncherCard[data-category="Notebook"]', has_text="torch (base) 3.11")
    expect(card).to_have_count(0)
    links = base / ".jupyter/kernels"
    links.mkdir(parents=True)
    (links / "haienv-base-torch").symlink_to("../../torch/current/kernel")
    (base / "torch/current").symlink_to("generations/1")
    expect(card).to_be_visible(timeout=SLOW)
    shot(page, tmp_path, "base")
