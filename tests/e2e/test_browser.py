"""A researcher's way in a real browser: start a server, submit a file, watch its log, be told when a server ends."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from e2e.conftest import Platform
from hai_client import TaskRequest
from kit.waiting import wait_for

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
#: Milliseconds after which what has not come never will, on a busy machine too.
SLOW = 180_000
START = "#spawn_form [type=submit]"
TRAINING = """
import itertools, time
for step in itertools.count():
    print(f"step {step}", flush=True)
    time.sleep(0.2)
"""
BUSY = """
import time
while True:
    until = time.monotonic() + 0.1
    while time.monotonic() < until:
        pass
    time.sleep(0.1)
"""
#: A server of size `brief` has its warning a second after its start, and after "Keep it" no more.
OVERRIDES = """
[HaiLocalSpawner]
default_size = "usual"
sizes.usual = { title = "Usual", cpu = 1, memory = "1Gi" }
sizes.brief = { title = "Brief", cpu = 1, memory = "1Gi", lifetime = "61s" }
limits.brief = { user = 1 }
[HaiCulling]
enabled = true
warn = "1m"
[SpotServer]
poll_interval = 1
look_every = 0.5
grace = 120
"""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform of four nodes, with two sizes of servers."""
    home = tmp_path_factory.mktemp("platform")
    overrides = home / "hub.toml"
    overrides.write_text(OVERRIDES)
    made = Platform(home, nodes=4, options=("--hub-config", str(overrides)))
    try:
        made.start()
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def page(platform: Platform) -> Iterator[Page]:
    """Ann's JupyterLab, logged in through the Hub, with a training script in her folder."""
    home = platform.state / "home" / "ann"
    home.mkdir(parents=True, exist_ok=True)
    (home / "train.py").write_text(TRAINING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
        failures: list[str] = []
        page.on("response", lambda r: failures.append(f"{r.status} {r.url}") if r.status >= 500 else None)
        page.goto(platform.url)
        page.fill("#username_input", "ann")
        page.fill("#password_input", "a long enough word")
        page.click("#login_submit")
        page.locator("#hai-size-usual").wait_for(timeout=SLOW)
        page.click(START)
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
    show_panel(page)


def show_panel(page: Page) -> None:
    """Show the panel, unless it is open."""
    tab = page.locator('.lm-TabBar-tab[data-id="hai-panel"]')
    if "lm-mod-current" not in (tab.get_attribute("class") or ""):
        tab.click()


def test_submit_a_file_watch_its_log_and_stop_it(page: Page, platform: Platform, tmp_path: Path) -> None:
    # Nobody has to find it: the panel is open at the first visit.
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


def test_studio_is_in_the_launcher_and_opens_tasks_in_tabs(page: Page, platform: Platform, tmp_path: Path) -> None:
    loop = ("python", "-c", "import time; time.sleep(600)")
    platform.client().submit(TaskRequest(name="for-studio", command=loop, cwd="/", nodes=1, profile="kill"))
    page.locator('.lm-TabBar-tab:has-text("Launcher")').click()
    cards = page.locator('.jp-LauncherCard[data-category="HAI"]')
    expect(cards).to_have_text(["Submit a task", "My tasks", "Cluster", "Environments", "Examples"])
    status = page.get_by_test_id("hai-status")
    expect(status).to_have_text("HAI: 1 running, 0 waiting", timeout=SLOW)
    shot(page, tmp_path, "launcher")
    cards.filter(has_text="Cluster").click()
    studio = page.locator(".hai-StudioWidget")
    expect(studio.get_by_test_id("hai-figures")).to_contain_text("1 of 4", timeout=SLOW)
    shot(page, tmp_path, "studio")
    studio.get_by_role("link", name="Tasks").click()
    studio.get_by_test_id("hai-tasks-table").get_by_role("link", name="for-studio").click()
    expect(page.get_by_label("for-studio").get_by_test_id("hai-task-state")).to_have_text("running", timeout=SLOW)
    shot(page, tmp_path, "studio-task")
    platform.hai("stop", "for-studio")
    expect(status).to_have_text("HAI: 0 running, 0 waiting", timeout=SLOW)
    page.locator('.lm-TabBar-tab:has-text("HAI: Tasks") .lm-TabBar-tabCloseIcon').click()
    page.locator('.lm-TabBar-tab:has-text("Launcher")').click()


def test_a_task_is_submitted_again_with_a_change(page: Page, platform: Platform, tmp_path: Path) -> None:
    page.get_by_test_id("hai-status").click()
    page.get_by_test_id("hai-tasks-table").get_by_role("link", name="for-studio").click()
    task = page.get_by_label("for-studio")
    task.get_by_test_id("hai-again").click()
    form = page.get_by_test_id("hai-submit-form")
    expect(form.locator('[name="command"]')).to_have_value(re.compile("time.sleep"))
    form.locator('[name="name"]').fill("once-more")
    shot(page, tmp_path, "again")
    page.locator(".jp-Dialog .jp-mod-accept").click()
    form.wait_for(state="detached")
    expect(page.get_by_label("once-more").get_by_test_id("hai-task-state")).to_have_text("running", timeout=SLOW)
    assert platform.json("status", "once-more")["profile"] == "kill"
    platform.hai("stop", "once-more")
    page.locator('.lm-TabBar-tab:has-text("HAI: Tasks") .lm-TabBar-tabCloseIcon').click()
    page.locator('.lm-TabBar-tab:has-text("Launcher")').click()


def test_the_examples_are_in_the_home_and_stay_deleted(page: Page, platform: Platform, tmp_path: Path) -> None:
    given = platform.state / "home" / "ann" / "hai-examples"
    assert (given / "train_digits.py").is_file()
    (given / "train_digits.py").unlink()
    page.locator('.jp-LauncherCard[data-category="HAI"]', has_text="Examples").click()
    notebook = page.locator(".jp-NotebookPanel:visible")
    expect(notebook).to_contain_text("Your first minute on the cluster", timeout=SLOW)
    assert (given / "train_digits.py").is_file(), "who asks for the examples gets what is missing"
    page.locator("#jp-main-statusbar", has_text=re.compile(r"\| Idle")).wait_for(timeout=SLOW)
    notebook.locator(".jp-CodeCell").first.click()
    page.keyboard.press("Shift+Enter")
    output = notebook.locator(".jp-CodeCell").first.locator(".jp-OutputArea-output")
    expect(output).to_contain_text("ann", timeout=SLOW)
    expect(output).not_to_contain_text("command not found")
    shot(page, tmp_path, "examples")
    page.keyboard.press("Control+s")
    page.locator('.lm-TabBar-tab:has-text("start-here"):not(.jp-mod-dirty)').wait_for(timeout=SLOW)
    page.locator('.lm-TabBar-tab:has-text("start-here") .lm-TabBar-tabCloseIcon').click()


def test_a_waiting_task_says_why_and_what_would_let_it_start(page: Page, platform: Platform, tmp_path: Path) -> None:
    client = platform.client()
    loop = ("python", "-c", "import time; time.sleep(600)")
    client.submit(TaskRequest(name="holds-all", command=loop, cwd="/", nodes=4, profile="kill"))
    wait_for("the first task runs", lambda: platform.json("status", "holds-all")["state"] == "running")
    client.submit(TaskRequest(name="wants-two", command=loop, cwd="/", nodes=2, profile="kill"))

    show_panel(page)
    row = page.get_by_test_id("hai-tasks").get_by_text("wants-two")
    row.wait_for(timeout=SLOW)
    page.get_by_role("button", name="Why does wants-two wait?").click(timeout=SLOW)
    expect(page.get_by_test_id("hai-tasks")).to_contain_text("Needs 2 nodes but none is free")
    shot(page, tmp_path, "few-words")
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


def test_the_performance_tab_has_curves_that_move(page: Page, platform: Platform, tmp_path: Path) -> None:
    client = platform.client()
    client.submit(TaskRequest(name="busy", command=("python", "-c", BUSY), cwd="/", nodes=2, profile="kill"))
    show_panel(page)
    row = page.get_by_test_id("hai-tasks").get_by_text("busy")
    row.wait_for(timeout=SLOW)
    row.click()
    view = page.get_by_label("busy")
    view.get_by_test_id("hai-tab-performance").click()
    expect(view.get_by_test_id("hai-performance")).to_contain_text(re.compile("first numbers come|Processors"))
    chart = view.get_by_test_id("hai-chart-cpu")
    moment = chart.get_by_role("slider")
    expect(moment).to_have_attribute("aria-valuetext", re.compile(r"newest: cores (0\.|[1-9])"), timeout=SLOW)
    picture = "canvas => canvas.toDataURL()"
    before = chart.locator("canvas").evaluate(picture)
    points = int(moment.get_attribute("aria-valuemax") or 0)
    wait_for("a further point", lambda: int(moment.get_attribute("aria-valuemax") or 0) > points)
    assert chart.locator("canvas").evaluate(picture) != before, "the curve is drawn again with the new point"
    expect(chart).to_contain_text("The band is from the least to the greatest value of each 10 s.")
    expect(view.get_by_test_id("hai-performance")).to_contain_text("Network is measured in pods only")

    view.get_by_role("checkbox", name="1").check()
    expect(chart.get_by_role("button", name="rank 1")).to_contain_text("cores")
    shot(page, tmp_path, "performance")
    platform.hai("stop", "busy")


@pytest.fixture
def other(page: Page) -> Iterator[Page]:
    """A second window of the same browser, for servers that end."""
    opened = page.context.new_page()
    yield opened
    opened.close()


def test_a_server_that_ends_is_announced_and_kept_by_one_click(other: Page, platform: Platform, tmp_path: Path) -> None:
    other.goto(f"{platform.url}/hub/spawn/ann/short")
    expect(other.locator("#spawn_form")).to_contain_text("You have 0 of 1 servers of size brief")
    other.check("#hai-size-brief")
    expect(other.locator(".hai-spot-choices")).to_be_hidden()
    shot(other, tmp_path, "sizes")
    other.click(START)
    other.wait_for_url(re.compile("/user/ann/short/lab"), timeout=2 * SLOW)
    warning = other.locator(".Toastify__toast", has_text="This server ends at")
    expect(warning).to_contain_text("its time is over. Save your work, or keep it.", timeout=2 * SLOW)
    shot(other, tmp_path, "lifetime")
    warning.get_by_role("button", name="Keep it").click()
    expect(other.locator(".Toastify__toast", has_text="This server stays until")).to_be_visible(timeout=SLOW)
    expect(warning).to_have_count(0)
    shot(other, tmp_path, "kept")

    other.goto(f"{platform.url}/hub/spawn/ann/third")
    expect(other.locator("#hai-size-brief")).to_be_disabled()
    expect(other.locator("#spawn_form")).to_contain_text("Not now: you have 1 of 1 servers of size brief.")
    shot(other, tmp_path, "refusal")


def test_a_spot_container_shows_its_place_and_counts_down_when_its_turn_ends(
    other: Page, platform: Platform, tmp_path: Path
) -> None:
    client = platform.client()
    loop = ("python", "-c", "import time; time.sleep(600)")
    client.submit(TaskRequest(name="fills", command=loop, cwd="/", nodes=4, profile="kill"))
    wait_for("all nodes to be held", lambda: platform.json("status", "fills")["state"] == "running")
    other.goto(f"{platform.url}/hub/spawn/ann/gpu")
    other.check("#hai-spot")
    expect(other.locator("#hai-spot-gpus")).to_be_visible()
    shot(other, tmp_path, "spot-form")
    other.click(START)
    expect(other.locator("#progress-message")).to_contain_text("Place 1 in the queue", timeout=SLOW)
    expect(other.locator("#progress-message")).to_contain_text("held by task")
    shot(other, tmp_path, "spot-waits")

    platform.hai("stop", "fills")
    other.wait_for_url(re.compile("/user/ann/gpu/lab"), timeout=2 * SLOW)
    other.locator(".jp-Launcher").wait_for(timeout=SLOW)
    expect(other.locator(".hai-Countdown")).to_have_count(0)
    item = other.locator(".hai-StatusItem", has_text="Spot container")
    expect(item).to_have_text("Spot container", timeout=SLOW)
    client.submit(TaskRequest(name="urgent", command=loop, cwd="/", nodes=4, profile="kill", priority="HIGH"))
    countdown = other.locator(".hai-Countdown")
    expect(countdown).to_contain_text("This node is needed", timeout=SLOW)
    expect(countdown.get_by_role("timer")).to_have_text(re.compile(r"^[12]:\d\d$"))
    expect(item).to_have_text(re.compile(r"^Spot container: [12]:\d\d left$"))
    toasts = other.locator(".Toastify__toast")
    expect(toasts.filter(has_text="This server ends soon: a task of higher priority")).to_be_visible()
    expect(toasts.filter(has_text="comes back by itself at its next turn.")).to_be_visible()
    shot(other, tmp_path, "countdown")
    other.set_viewport_size({"width": 800, "height": 600})
    expect(countdown.get_by_role("button")).to_be_in_viewport(ratio=1)
    shot(other, tmp_path, "countdown-narrow")
    countdown.get_by_role("button").click()
    expect(countdown).to_contain_text("The node was given back", timeout=SLOW)
    shot(other, tmp_path, "given-back")
    wait_for("the node to be given back", lambda: platform.json("status", "urgent")["state"] == "running")
    assert platform.json("status", "spot-gpu")["state"] == "suspended"
    for name in ("spot-gpu", "urgent"):
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
