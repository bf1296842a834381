"""A day of eight GPUs in the tab *Performance*, in a real browser on a real platform: from the click to the curves."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.browser import CHROMIUM, FLAGS, SLOW
from bench.figures import Report, percentile, say
from bench.metrics_points import GPUS, points_of
from e2e.conftest import Platform
from hai_client import TaskRequest
from hai_scheduler.core.metrics.retention import DAY, HOUR
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.store.store import open_store
from kit.databases import sqlite_url
from kit.waiting import wait_for

if TYPE_CHECKING:
    from playwright.sync_api import Page

CLICKS: Final = 15
#: Clicks a range, and returns the milliseconds until its curves were drawn and those of the request, and its bytes.
_DRAW: Final = """async ([range, step]) => {
  const view = document.querySelector('[data-testid="hai-performance"]');
  const drawn = () => view.textContent.includes(`each ${step} s.`);
  const choice = view.querySelector(`input[value="${range}"]`);
  performance.clearResourceTimings();
  const began = performance.now();
  choice.click();
  await new Promise(done => {
    const watcher = new MutationObserver(() => {
      if (drawn()) {
        watcher.disconnect();
        // Behind the next frame: what was painted on is on the screen.
        requestAnimationFrame(() => setTimeout(done, 0));
      }
    });
    watcher.observe(view, { childList: true, subtree: true, characterData: true });
  });
  const took = performance.now() - began;
  const asked = performance.getEntriesByType('resource').filter(each => each.name.includes('/metrics'));
  return [took, Math.max(...asked.map(each => each.duration)), Math.max(...asked.map(each => each.decodedBodySize))];
}"""


def measure(report: Report, topic: str) -> None:
    """Start a platform with a task of a day, and look at it."""
    name = f"24 h of {GPUS} GPUs of a rank in a browser"
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        report.skip(f"{topic}: {name}", "the Python package playwright is not installed")
        return
    if CHROMIUM is None:
        report.skip(f"{topic}: {name}", "no Chromium on this machine: install the package chromium")
        return
    say("a day of 8 GPUs in a browser")
    with tempfile.TemporaryDirectory(prefix="hai-bench-", ignore_cleanup_errors=True) as temporary:
        platform = Platform(Path(temporary), nodes=1)
        try:
            platform.start()
            _fill(platform)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
                page = browser.new_page(viewport={"width": 1400, "height": 900})
                _look(report, topic, name, platform, page)
                browser.close()
        except Error as error:
            report.skip(f"{topic}: {name}", error.message.splitlines()[0])
        finally:
            platform.end()


def _fill(platform: Platform) -> None:
    """Let a task run, and make it one that has computed for a day."""
    platform.client().submit(TaskRequest(name="train", command=("true",), cwd="/", nodes=1))
    wait_for("the task to end", lambda: platform.json("status", "train")["state"] == "succeeded")
    file = next(platform.state.rglob("hai.sqlite"))
    end = int(time.time()) // 10 * 10
    with closing(sqlite3.connect(file, timeout=60)) as database, database:
        changed = database.execute("UPDATE hai_runs SET started_at = ? WHERE run_id = '1.1'", ((end - DAY) * 10**6,))
        assert changed.rowcount == 1, "the task has another run"
    asyncio.run(_store(file, end))


async def _store(file: Path, end: int) -> None:
    store = await open_store(sqlite_url(file))
    points = list(points_of(end - DAY, end, 0))
    for first in range(0, len(points), 90):
        await store.series.append(RunId("1.1"), 0, points[first : first + 90])
    while await store.series.pack(now=end // HOUR * HOUR, limit=10):
        pass
    await store.close()


def _look(report: Report, topic: str, name: str, platform: Platform, page: Page) -> None:
    page.set_default_timeout(4 * SLOW)
    page.goto(platform.url)
    page.fill("#username_input", "ann")
    page.fill("#password_input", "a long enough word")
    page.click("#login_submit")
    page.wait_for_url(re.compile("/user/ann/lab"))
    page.locator(".jp-Launcher").wait_for()
    row = page.get_by_test_id("hai-tasks").get_by_text("train")
    row.wait_for()
    row.click()
    view = page.get_by_label("train")
    view.get_by_test_id("hai-tab-performance").click()
    view.get_by_test_id("hai-chart-cpu").wait_for()
    clicks: list[Any] = []
    for _ in range(CLICKS):
        page.evaluate(_DRAW, ["1h", 10])
        clicks.append(page.evaluate(_DRAW, ["24h", 120]))
    took, asked = [one[0] for one in clicks], [one[1] for one in clicks]
    size = max(one[2] for one in clicks)
    note = f"click to drawn; best of {CLICKS}, half are below {percentile(took, 50):.0f} ms"
    report.add(topic, name, min(took), "ms", note, at_most=300)
    report.add(topic, f"{name}: of that, the request", min(asked), "ms", f"through Lab and Hub, {size / 1e3:.0f} kB")
