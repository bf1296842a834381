"""The commonest ways through the page of the service: five of a researcher, in Chinese, and those of an admin.

What is tried elsewhere is not tried again: filters, a stopped task, own order and a cordon in test_browser_studio.py,
the form of a submission and a task that waits in JupyterLab in test_browser.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from e2e.conftest import ROOT, Platform
from e2e.test_browser_studio import CHROMIUM, LOOP, SLOW, Visit, browser
from hai_client import TaskRequest
from kit.waiting import wait_for

__all__ = ["browser"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: install the package chromium"),
]
CATALOGUE = ROOT / "lab_extension" / "hai_lab" / "locale" / "zh_CN" / "LC_MESSAGES" / "hai_lab.json"


def zh(text: str) -> str:
    """What the page says for it in Chinese."""
    (said,) = json.loads(CATALOGUE.read_text(encoding="utf-8"))[text]
    assert said not in ("", text)
    return str(said)


def themed(context: BrowserContext, theme: str, language: str) -> None:
    """Have the page in a theme and a language from its next visit on, as its own choices leave them."""
    context.add_init_script(
        f"localStorage.setItem('hai-theme', '{theme}'); localStorage.setItem('hai-language', '{language}');"
    )


@pytest.fixture(scope="module")
def bob(browser: Browser, platform: Platform) -> Iterator[Visit]:
    """A researcher who reads Chinese in the dark."""
    made = platform.json("admin", "user", "add", "bob", "--token")
    platform.tokens["bob"] = made["token"]
    password = platform.json("admin", "user", "password", "bob")["password"]
    visit = Visit(browser, platform, "bob", password)
    themed(visit.context, "dark", "zh-CN")
    yield visit
    assert visit.complaints == []
    visit.context.close()


@pytest.fixture(scope="module")
def ann(browser: Browser, platform: Platform) -> Iterator[Visit]:
    """The admin, in English."""
    visit = Visit(browser, platform, "ann", "a long enough word")
    themed(visit.context, "light", "en")
    yield visit
    assert visit.complaints == []
    visit.context.close()


@pytest.fixture(scope="module")
def tasks(platform: Platform, bob: Visit) -> Iterator[dict[str, int]]:
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


def button(within: Page | Locator, text: str) -> Locator:
    return within.get_by_role("button", name=text, exact=True)


def saved_by(click: Callable[[], None], page: Page) -> str:
    """The text of the file that a click saves."""
    with page.expect_download(timeout=SLOW) as download:
        click()
    return Path(download.value.path()).read_text(encoding="utf-8")


# -- a researcher, in Chinese and dark ----------------------------------------------------------------


def test_a_researcher_sees_why_a_task_waits_and_for_whom(bob: Visit, tasks: dict[str, int]) -> None:
    page = bob.open("")
    assert page.evaluate("[document.documentElement.lang, document.documentElement.dataset.theme]") == ["zh-CN", "dark"]
    row = page.get_by_test_id("hai-queue").get_by_role("row").filter(has_text="ways-waits")
    row.get_by_role("link", name="ways-waits").click(timeout=SLOW)
    why = page.get_by_test_id("hai-task-why")
    expect(why).to_contain_text(zh("Place in line"), timeout=SLOW)
    assert re.search("[一-鿿]", why.locator("span").first.inner_text()), "the sentence is Chinese"
    why.get_by_text(zh("Who holds the nodes")).click()
    expect(why.get_by_role("listitem").filter(has_text=f"#{tasks['long']}").first).to_be_visible()


def test_a_researcher_submits_a_task_again(bob: Visit, tasks: dict[str, int], platform: Platform) -> None:
    page = bob.open(f"tasks/{tasks['short']}")
    page.get_by_test_id("hai-again").click(timeout=SLOW)
    page.get_by_role("dialog").get_by_role("button", name=zh("Submit it")).click()
    expect(page).not_to_have_url(re.compile(f"tasks/{tasks['short']}$"), timeout=SLOW)
    again = int(page.url.rsplit("/", 1)[1])
    assert platform.client("bob").task(again).command == ("echo", "it ran")
    platform.client("bob").stop(again)


def test_a_researcher_reads_the_log_of_a_task_that_has_ended(bob: Visit, tasks: dict[str, int]) -> None:
    page = bob.open(f"tasks/{tasks['short']}")
    expect(page.get_by_test_id("hai-log")).to_contain_text("it ran", timeout=SLOW)


def test_a_researcher_holds_a_task_and_lets_it_wait_again(bob: Visit, tasks: dict[str, int]) -> None:
    page = bob.open(f"tasks/{tasks['waits']}")
    page.get_by_test_id("hai-hold").click(timeout=SLOW)
    page.get_by_test_id("hai-resume").click(timeout=SLOW)
    expect(page.get_by_test_id("hai-hold")).to_be_visible(timeout=SLOW)
    expect(page.get_by_test_id("hai-task-why")).to_contain_text(zh("Place in line"), timeout=SLOW)


def test_a_researcher_looks_at_the_own_report_and_saves_it(bob: Visit, tasks: dict[str, int]) -> None:
    page = bob.open("reports?by=user&days=1")
    table = page.get_by_test_id("hai-report")
    expect(table.locator("tbody th").first).to_have_text("bob", timeout=SLOW)
    expect(table).not_to_contain_text("ann")
    file = saved_by(button(page, zh("Save as CSV")).click, page)
    assert file.splitlines()[1].startswith("bob,")
    assert zh("Node hours") in file.splitlines()[0]


# -- an admin, in English and light -------------------------------------------------------------------


def test_an_admin_edits_quota_in_place(ann: Visit, bob: Visit, platform: Platform) -> None:
    page = ann.open("people")
    page.get_by_role("button", name="Quota of bob").click(timeout=SLOW)
    page.get_by_role("button", name="Edit the quota for High in training").click(timeout=SLOW)
    form = page.get_by_role("form", name="Quota of bob for High in training")
    form.get_by_label("Limit in nodes").fill("3")
    button(form, "Save").click()
    expect(page.get_by_text("Quota of bob saved.")).to_be_visible(timeout=SLOW)
    rows = {(row.subject, row.priority): row.limit for row in platform.client().quotas()}
    assert rows["user:bob", "HIGH"] == 3


def test_an_admin_archives_a_user_and_restores_them(ann: Visit, platform: Platform) -> None:
    platform.token("carl")
    platform.hai("list", user="carl")
    page = ann.open("people?user=carl")
    page.get_by_label("Why, for other admins").fill("on leave")
    page.get_by_role("button", name="Archive…").click()
    button(page.get_by_role("dialog"), "Archive").click()
    page.get_by_role("button", name="Restore…").click(timeout=SLOW)
    assert platform.hai("list", user="carl", check=False).returncode == 3
    button(page.get_by_role("dialog"), "Restore").click()
    expect(page.get_by_role("button", name="Archive…")).to_be_visible(timeout=SLOW)
    assert platform.hai("list", user="carl").returncode == 0


def test_an_admin_tries_policy_numbers_and_saves_them(ann: Visit, tasks: dict[str, int], platform: Platform) -> None:
    page = ann.open("policy")
    page.get_by_label("slice in force", exact=True).fill("1h", timeout=SLOW)
    button(page, "Try it").click()
    expect(page.get_by_test_id("hai-trial")).to_contain_text("Turns", timeout=SLOW)
    button(page, "Save").click()
    expect(page.get_by_text("You have changed nothing.")).to_be_visible(timeout=SLOW)
    numbers = {number.name: number.common.value for number in platform.client().policy().numbers}
    assert numbers["slice"] == "1h"


def test_an_admin_writes_a_mount_rule_and_removes_it(ann: Visit, platform: Platform) -> None:
    page = ann.open("storage?user=bob")
    button(page, "New mount rule").click(timeout=SLOW)
    form = page.get_by_role("form", name="New mount rule")
    form.get_by_label("Name", exact=True).fill("datasets")
    form.get_by_label("Whom it is for").fill("public")
    form.get_by_label("Mount path", exact=True).fill("/datasets")
    form.get_by_label("Folder", exact=True).fill("/data/datasets")
    button(form, "Save").click()
    expect(page.get_by_test_id("hai-seen")).to_contain_text("/datasets", timeout=SLOW)
    page.get_by_role("button", name="Edit mount rule datasets").click()
    page.get_by_role("form", name="Mount rule datasets").get_by_role("button", name="Remove").click()
    button(page.get_by_role("dialog"), "Remove").click()
    expect(page.get_by_text("There is no mount rule.")).to_be_visible(timeout=SLOW)
    assert platform.client().mounts() == ()


def test_an_admin_holds_the_task_of_another_user(ann: Visit, tasks: dict[str, int], platform: Platform) -> None:
    page = ann.open("tasks?whose=all&q=ways-waits")
    page.get_by_test_id("hai-tasks-table").get_by_role("link", name="ways-waits").click(timeout=SLOW)
    page.get_by_test_id("hai-hold").click(timeout=SLOW)
    expect(page.get_by_test_id("hai-resume")).to_be_visible(timeout=SLOW)
    assert platform.client("bob").task(tasks["waits"]).held
    page.get_by_test_id("hai-resume").click()
    wait_for("it to wait again", lambda: not platform.client("bob").task(tasks["waits"]).held)


def test_an_admin_looks_at_the_queue_and_knows_all_names(ann: Visit, tasks: dict[str, int]) -> None:
    page = ann.open("")
    row = page.get_by_test_id("hai-queue").get_by_role("row").filter(has_text="ways-waits")
    expect(row).to_contain_text("bob", timeout=SLOW)


def test_an_admin_sees_the_rates_in_the_report_and_saves_it(
    ann: Visit, tasks: dict[str, int], platform: Platform
) -> None:
    platform.hai("admin", "rates", "set", "EUR", "--node-hour", "3600", "--from", "2026-01-01")
    page = ann.open("reports?by=user&days=1")
    expect(page.get_by_test_id("hai-report").get_by_role("row").filter(has_text="bob")).to_contain_text(
        "EUR", timeout=SLOW
    )
    head, *rows = saved_by(button(page, "Save as CSV").click, page).splitlines()
    assert head.endswith("Cost")
    assert any(re.fullmatch(r"bob,.*[0-9.]+ EUR", row) for row in rows)


def test_an_admin_reads_in_the_audit_what_was_just_changed(ann: Visit, platform: Platform) -> None:
    platform.hai("admin", "quota", "set", "user:bob", "LOW", "2")
    page = ann.open("audit?subject=user:bob&action=quota")
    row = page.get_by_test_id("hai-audit").get_by_role("row").filter(has_text="quota.put").first
    expect(row).to_contain_text("limit: – → 2", timeout=SLOW)
    expect(row).to_contain_text("ann")
    # Live: no reload.
    platform.hai("admin", "quota", "set", "user:bob", "LOW", "1")
    expect(row).to_contain_text("limit: 2 → 1", timeout=SLOW)


def test_an_admin_reads_that_the_platform_is_well(ann: Visit) -> None:
    page = ann.open("health")
    page.get_by_label("Theme").select_option("dark")
    expect(page.get_by_text("All is well")).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("No alarm is in force.")).to_be_visible()
