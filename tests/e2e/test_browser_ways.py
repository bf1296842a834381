"""The commonest ways through Studio: a researcher's in both shells, an admin's on the page; both languages and themes.

What is tried elsewhere is not tried again: filters, a stopped task and own order in test_browser_studio.py, the form of
a submission and a task that waits in test_browser.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from e2e.conftest import Platform
from e2e.shells import SHELLS, Seat, Shell, admin_seats, seats
from e2e.test_browser_studio import CHROMIUM, LOOP, SLOW, Visit, browser
from hai_client import TaskRequest
from kit.waiting import wait_for

__all__ = ["browser"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: install the package chromium"),
]


class Desk:
    """A user's browser, with a window for each shell. With `lab`, a JupyterLab is started for it."""

    def __init__(self, browser: Browser, platform: Platform, user: str, password: str, *, lab: bool) -> None:
        visit = Visit(browser, platform, user, password)
        self._context = visit.context
        self._platform = platform
        self._user = user
        self._shells: dict[str, Shell] = {}
        if lab:
            # It starts meanwhile.
            visit.page.goto(f"{platform.url}/hub/spawn")
            visit.page.goto("about:blank")

    def sit(self, seat: Seat) -> Shell:
        """Return the shell, in that language and theme."""
        if seat.shell not in self._shells:
            self._shells[seat.shell] = SHELLS[seat.shell](self._context, self._platform, self._user)
        shell = self._shells[seat.shell]
        shell.sit(seat)
        return shell

    def leave(self) -> None:
        """Close it. No script has failed in it."""
        complaints = [f"{name}: {text}" for name, shell in self._shells.items() for text in shell.complaints]
        self._context.close()
        assert complaints == []


@pytest.fixture(scope="module")
def bobs_desk(browser: Browser, platform: Platform) -> Iterator[Desk]:
    """Bob is a researcher."""
    platform.token("bob")
    made = Desk(browser, platform, "bob", platform.json("admin", "user", "password", "bob")["password"], lab=True)
    yield made
    made.leave()


@pytest.fixture(scope="module")
def anns_desk(browser: Browser, platform: Platform) -> Iterator[Desk]:
    """Ann is an admin."""
    made = Desk(browser, platform, "ann", "a long enough word", lab=False)
    yield made
    made.leave()


@pytest.fixture(scope="module")
def bob(request: pytest.FixtureRequest, bobs_desk: Desk) -> Shell:
    """Bob before one of his shells; tests of one seat come one after the other."""
    return bobs_desk.sit(request.param)


@pytest.fixture(scope="module")
def ann(request: pytest.FixtureRequest, anns_desk: Desk) -> Shell:
    """Ann before the page."""
    return anns_desk.sit(request.param)


def of_bob(way: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("bob", seats(way), ids=str, indirect=True)


def of_ann(way: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("ann", admin_seats(way), ids=str, indirect=True)


@pytest.fixture(autouse=True)
def picture(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Keep a picture of where each way has ended, for people to look at."""
    yield
    for name in ("bob", "ann"):
        if name in request.fixturenames:
            shell: Shell = request.getfixturevalue(name)
            shell.page.screenshot(path=str(tmp_path / f"{shell.seat}.png"))


@pytest.fixture(scope="module")
def tasks(platform: Platform, bobs_desk: Desk) -> Iterator[dict[str, int]]:
    """A task of ann's on all nodes, one of bob's that waits for it, and one of his that has ended."""
    ann, other = platform.client("ann"), platform.client("bob")
    short = other.submit(TaskRequest(name="ways-short", command=("echo", "it ran"), cwd="/", nodes=1)).id
    wait_for("it to end", lambda: other.task(short).state == "succeeded")
    long = ann.submit(TaskRequest(name="ways-long", command=LOOP, cwd="/", nodes=4, profile="kill")).id
    wait_for("it to run", lambda: ann.task(long).state == "running")
    waits = other.submit(TaskRequest(name="ways-waits", command=LOOP, cwd="/", nodes=2, profile="kill")).id
    yield {"short": short, "long": long, "waits": waits}
    for task in (long, waits):
        ann.stop(task)


def saved_by(click: Callable[[], None], page: Page) -> str:
    """The text of the file that a click saves."""
    with page.expect_download(timeout=SLOW) as download:
        click()
    return Path(download.value.path()).read_text(encoding="utf-8")


def queued(shell: Shell, name: str) -> Locator:
    """The row of a task in the queue of the overview."""
    return shell.go("overview", "Overview").get_by_test_id("hai-queue").get_by_role("row").filter(has_text=name)


# -- a researcher -------------------------------------------------------------------------------------


@of_bob(0)
def test_a_researcher_sees_why_a_task_waits_and_for_whom(bob: Shell, tasks: dict[str, int]) -> None:
    queued(bob, "ways-waits").get_by_role("link", name="ways-waits").click(timeout=SLOW)
    why = bob.task().get_by_test_id("hai-task-why")
    expect(why).to_contain_text(bob.says("Place in line"), timeout=SLOW)
    sentence = why.locator("span").first.inner_text()
    assert bool(re.search("[一-鿿]", sentence)) == (bob.seat.language == "zh"), sentence
    why.get_by_text(bob.says("Who holds the nodes")).click()
    expect(why.get_by_role("listitem").filter(has_text=f"#{tasks['long']}").first).to_be_visible()


@of_bob(1)
def test_a_researcher_submits_a_task_again(bob: Shell, tasks: dict[str, int], platform: Platform) -> None:
    client = platform.client("bob")
    before = {task.id for task in client.tasks(name="ways-short")}
    view = bob.open_task("ways-short", number=tasks["short"])
    view.get_by_test_id("hai-again").click(timeout=SLOW)
    if bob.seat.shell == "page":
        bob.answer("Submit it")
    else:
        # JupyterLab has the form: something can be changed first.
        form = bob.page.get_by_test_id("hai-submit-form")
        form.wait_for(timeout=SLOW)
        bob.page.locator(".jp-Dialog .jp-mod-accept").click()
        form.wait_for(state="detached", timeout=SLOW)
    wait_for("the new task", lambda: {task.id for task in client.tasks(name="ways-short")} > before)
    (again,) = {task.id for task in client.tasks(name="ways-short")} - before
    expect(bob.task().get_by_text(f"#{again}", exact=True).first).to_be_visible(timeout=SLOW)
    assert client.task(again).command == ("echo", "it ran")
    client.stop(again)


@of_bob(2)
def test_a_researcher_reads_the_log_of_a_task_that_has_ended(bob: Shell, tasks: dict[str, int]) -> None:
    view = bob.open_task("ways-short", number=tasks["short"])
    expect(view.get_by_test_id("hai-log")).to_contain_text("it ran", timeout=SLOW)


@of_bob(3)
def test_a_researcher_holds_a_task_and_lets_it_wait_again(bob: Shell, tasks: dict[str, int]) -> None:
    view = bob.open_task("ways-waits", number=tasks["waits"])
    view.get_by_test_id("hai-hold").click(timeout=SLOW)
    view.get_by_test_id("hai-resume").click(timeout=SLOW)
    expect(view.get_by_test_id("hai-hold")).to_be_visible(timeout=SLOW)
    expect(view.get_by_test_id("hai-task-why")).to_contain_text(bob.says("Place in line"), timeout=SLOW)


@of_bob(4)
def test_a_researcher_looks_at_the_own_report_and_saves_it(bob: Shell, tasks: dict[str, int]) -> None:
    view = bob.go("reports", "Reports")
    view.get_by_label(bob.says("Time"), exact=True).select_option("1")
    table = view.get_by_test_id("hai-report")
    expect(table.locator("tbody th").first).to_have_text("bob", timeout=SLOW)
    expect(table).not_to_contain_text("ann")
    file = saved_by(bob.button(view, "Save as CSV").click, bob.page)
    assert file.splitlines()[1].startswith("bob,")
    assert bob.says("Node hours") in file.splitlines()[0]


# -- an admin -----------------------------------------------------------------------------------------


@of_ann(0)
def test_an_admin_edits_quota_in_place(ann: Shell, tasks: dict[str, int], platform: Platform) -> None:
    view = ann.go("people", "People")
    ann.button(view, "Quota of %1", "bob").click(timeout=SLOW)
    high = ann.says("High")
    ann.button(view, "Edit the quota for %1 in %2", high, "training").click(timeout=SLOW)
    form = view.get_by_role("form", name=ann.says("Quota of %1 for %2 in %3", "bob", high, "training"))
    limit = {"en": 3, "zh": 4}[ann.seat.language]
    form.get_by_label(ann.says("Limit in nodes (empty: no limit)")).fill(str(limit))
    ann.button(form, "Save").click()
    ann.told("Quota of %1 saved.", "bob")
    rows = {(row.subject, row.priority): row.limit for row in platform.client().quotas()}
    assert rows["user:bob", "HIGH"] == limit


@of_ann(1)
def test_an_admin_archives_a_user_and_restores_them(ann: Shell, platform: Platform) -> None:
    platform.token("carl")
    platform.hai("list", user="carl")
    view = ann.go("people", "People")
    view.get_by_role("link", name="carl", exact=True).click(timeout=SLOW)
    view.get_by_label(ann.says("Why, for other admins")).fill("on leave")
    ann.button(view, "Archive…").click()
    ann.answer("Archive")
    ann.button(view, "Restore…").click(timeout=SLOW)
    assert platform.hai("list", user="carl", check=False).returncode == 3
    ann.answer("Restore")
    expect(ann.button(view, "Archive…")).to_be_visible(timeout=SLOW)
    assert platform.hai("list", user="carl").returncode == 0


@of_ann(2)
def test_an_admin_tries_policy_numbers_and_saves_them(ann: Shell, tasks: dict[str, int], platform: Platform) -> None:
    view = ann.go("policy", "Policy")
    slice_, action = {"en": ("1h", "yield"), "zh": ("2h", "notify")}[ann.seat.language]
    view.get_by_label(ann.says("%1 in force", "slice"), exact=True).fill(slice_, timeout=SLOW)
    view.get_by_label(ann.says("%1 in force", "idle_action"), exact=True).select_option(action)
    ann.button(view, "Try it").click()
    expect(view.get_by_test_id("hai-trial")).to_contain_text(ann.says("Turns"), timeout=SLOW)
    ann.button(view, "Save").click()
    expect(view.get_by_text(ann.says("You have changed nothing."))).to_be_visible(timeout=SLOW)
    numbers = {number.name: number.common.value for number in platform.client().policy().numbers}
    assert (numbers["slice"], numbers["idle_action"]) == (slice_, action)


@of_ann(3)
def test_an_admin_writes_a_mount_rule_and_removes_it(ann: Shell, bobs_desk: Desk, platform: Platform) -> None:
    view = ann.go("storage", "Storage")
    view.get_by_label(ann.says("User"), exact=True).fill("bob")
    ann.button(view, "New mount rule").click(timeout=SLOW)
    form = view.get_by_role("form", name=ann.says("New mount rule"))
    form.get_by_label(ann.says("Name"), exact=True).fill("datasets")
    form.get_by_label(ann.says("Whom it is for (user:NAME, group:NAME or public)")).fill("public")
    form.get_by_label(ann.says("Mount path"), exact=True).fill("/datasets")
    form.get_by_label(ann.says("Folder"), exact=True).fill("/data/datasets")
    ann.button(form, "Save").click()
    expect(view.get_by_test_id("hai-seen")).to_contain_text("/datasets", timeout=SLOW)
    ann.button(view, "Edit mount rule %1", "datasets").click()
    ann.button(view.get_by_role("form", name=ann.says("Mount rule %1", "datasets")), "Remove…").click()
    ann.answer("Remove")
    expect(view.get_by_text(ann.says("There is no mount rule."))).to_be_visible(timeout=SLOW)
    assert platform.client().mounts() == ()


@of_ann(4)
def test_an_admin_holds_the_task_of_another_user(ann: Shell, tasks: dict[str, int], platform: Platform) -> None:
    view = ann.open_task("ways-waits", number=tasks["waits"], whose="all")
    view.get_by_test_id("hai-hold").click(timeout=SLOW)
    expect(view.get_by_test_id("hai-resume")).to_be_visible(timeout=SLOW)
    assert platform.client("bob").task(tasks["waits"]).held
    view.get_by_test_id("hai-resume").click()
    wait_for("it to wait again", lambda: not platform.client("bob").task(tasks["waits"]).held)


@of_ann(5)
def test_an_admin_looks_at_the_queue_and_knows_all_names(ann: Shell, tasks: dict[str, int]) -> None:
    expect(queued(ann, "ways-waits")).to_contain_text("bob", timeout=SLOW)


@of_ann(6)
def test_an_admin_sees_the_rates_in_the_report_and_saves_it(
    ann: Shell, tasks: dict[str, int], platform: Platform
) -> None:
    platform.hai("admin", "rates", "set", "EUR", "--node-hour", "3600", "--from", "2026-01-01")
    view = ann.go("reports", "Reports")
    view.get_by_label(ann.says("Time"), exact=True).select_option("1")
    row = view.get_by_test_id("hai-report").get_by_role("row").filter(has_text="bob")
    expect(row).to_contain_text("EUR", timeout=SLOW)
    head, *rows = saved_by(ann.button(view, "Save as CSV").click, ann.page).splitlines()
    assert head.endswith(ann.says("Cost"))
    assert any(re.fullmatch(r"bob,.*[0-9.]+ EUR", row) for row in rows)


@of_ann(7)
def test_an_admin_reads_in_the_audit_what_was_just_changed(ann: Shell, bobs_desk: Desk, platform: Platform) -> None:
    level = {"en": "LOW", "zh": "BELOW_NORMAL"}[ann.seat.language]
    platform.hai("admin", "quota", "set", "user:bob", level, "2")
    view = ann.go("audit", "Audit")
    view.get_by_label(ann.says("Subject"), exact=True).fill("user:bob")
    view.get_by_label(ann.says("Action"), exact=True).fill("quota")
    row = view.get_by_test_id("hai-audit").get_by_role("row").filter(has_text="quota.put").first
    expect(row).to_contain_text("limit: – → 2", timeout=SLOW)
    expect(row).to_contain_text("ann")
    # Live: no reload.
    platform.hai("admin", "quota", "set", "user:bob", level, "1")
    expect(row).to_contain_text("limit: 2 → 1", timeout=SLOW)


@of_ann(8)
def test_an_admin_reads_that_the_platform_is_well_and_what_to_do_where_it_is_not(ann: Shell) -> None:
    view = ann.go("health", "Health")
    expect(view.get_by_text(ann.says("All is well"))).to_be_visible(timeout=SLOW)
    expect(view.get_by_text(ann.says("No alarm is in force."))).to_be_visible()
    view.get_by_role("link", name="HaiApiSlow").click()
    view.get_by_test_id("hai-runbook").get_by_role("link", name="HaiDatabaseSlow").click()
    expect(view.get_by_role("heading", name="HaiDatabaseSlow")).to_be_visible()
    what_to_do = {"en": "What to do", "zh": "处理方法"}[ann.seat.language]
    expect(view.get_by_role("heading", name=what_to_do)).to_be_visible()


@of_ann(9)
def test_an_admin_sees_whom_a_drain_would_move_and_cordons_instead(
    ann: Shell, tasks: dict[str, int], platform: Platform
) -> None:
    view = ann.go("nodes", "Nodes")
    node = view.get_by_role("listbox").get_by_role("option").last
    node.click(timeout=SLOW)
    ann.button(view, "Drain %1", 1).click()
    expect(ann.dialog()).to_contain_text("ways-long", timeout=SLOW)
    ann.answer("Leave as it is")
    ann.button(view, "Cordon %1", 1).click()
    expect(ann.dialog()).to_contain_text(ann.says("No task has to leave."), timeout=SLOW)
    ann.answer("Cordon")

    def marks() -> list[str]:
        return [each.mark for each in platform.client().nodes() if each.mark != "none"]

    wait_for("the cordon", lambda: marks() == ["cordoned"])
    # What was chosen is chosen no more.
    expect(ann.button(view, "Cordon %1", 1)).to_have_count(0, timeout=SLOW)
    node.click()
    ann.button(view, "Uncordon %1", 1).click(timeout=SLOW)
    wait_for("the end of the cordon", lambda: marks() == [])
    assert platform.client().task(tasks["long"]).state == "running"
