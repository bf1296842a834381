"""What the page does in a real Chromium: until it is filled, while it is scrolled, and what it keeps."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError

from bench.browser import CHROMIUM, FLAGS, SLOW
from bench.figures import Report, percentile, say
from bench.studio.platform import StudioPlatform
from bench.studio.scene import HEAD, HEAD_NODES, token
from kit.waiting import wait_for

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

TOPIC: Final = "Studio in a browser, 1,500 nodes and 10,000 tasks"
LOADS: Final = 10
EVENTS: Final = 8
#: Seconds within which an event shall be on the screen.
EVENT_S: Final = 2
SCROLLED_S: Final = 10.0
#: Pixels that a frame scrolls, of 30 pixels a row: 120 rows a second with a wheel, and 600 with the bar at the side.
STEPS: Final = {"scrolled by wheel": 60, "dragged by its bar": 300}

#: Both scripts below give up after a minute, which then is the figure.
#: Notes when the overview was filled: the figures, who waits, who holds nodes, and the quota; nothing says "Loading".
_FILLED: Final = """
window.filled = new Promise(done => {
  const look = () => {
    const there = document.querySelector('[data-testid="hai-figures"]')
      && document.querySelector('[data-testid="hai-queue"] tbody tr')
      && document.querySelector('[data-testid="hai-quota"]')
      && document.querySelectorAll('.hai-Card table tbody tr').length > 10
      && !document.body.textContent.includes('Loading');
    if (there) {
      watcher.disconnect();
      requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0));
    }
  };
  const watcher = new MutationObserver(look);
  watcher.observe(document, { childList: true, subtree: true, characterData: true });
  setTimeout(() => done(performance.now()), 60_000);
});
"""
#: When a page was loaded, in ms since the navigation.
_LOADED: Final = "performance.getEntriesByType('navigation')[0].loadEventEnd"
#: When the parts were there, in ms since the navigation: the document, the program, and the first and last answer.
_PARTS: Final = """() => {
  const parts = performance.getEntriesByType('resource');
  const files = parts.filter(part => part.name.includes('/page/')).map(part => part.responseEnd);
  const asked = parts.filter(part => part.name.includes('/api/') && !part.name.includes('/events'));
  return [
    performance.getEntriesByType('navigation')[0].responseEnd,
    Math.max(...files),
    Math.min(...asked.map(part => part.startTime)),
    Math.max(...asked.map(part => part.responseEnd).filter(end => end > 0))
  ];
}"""
#: Scrolls an element (null: nothing) down and up for some seconds, and returns the milliseconds between frames.
_SCROLL: Final = """([selector, seconds, step]) => new Promise(done => {
  const box = selector === null ? null : document.querySelector(selector);
  const times = [];
  let direction = step;
  const frame = now => {
    times.push(now);
    if (box !== null) {
      const before = box.scrollTop;
      box.scrollTop += direction;
      if (box.scrollTop === before) direction = -direction;
    }
    if (now - times[0] < seconds * 1000) requestAnimationFrame(frame);
    else done(times.slice(1).map((each, number) => each - times[number]));
  };
  requestAnimationFrame(frame);
})"""
#: Resolves with the time of day in ms at which a text is on the screen.
_APPEARS: Final = """text => {
  window.appeared = new Promise(done => {
    const look = () => {
      if (document.body.textContent.includes(text)) {
        watcher.disconnect();
        requestAnimationFrame(() => setTimeout(() => done(Date.now()), 0));
      }
    };
    const watcher = new MutationObserver(look);
    watcher.observe(document.body, { childList: true, subtree: true, characterData: true });
    setTimeout(() => done(Date.now()), 60_000);
    look();
  });
}"""
#: The requests that a page has sent since a time of day in ms: their addresses, how many milliseconds later they were
#: sent, and after how many more they were answered.
_REQUESTS: Final = """since => performance.getEntriesByType('resource')
  .map(({ name, startTime, duration, responseStatus }) =>
    [name.split('/api/v1')[1], performance.timeOrigin + startTime - since, duration, responseStatus])
  .filter(([, began]) => began > -2000)
  .map(([name, began, took, status]) => `${name} ${status} ${Math.round(began)}+${Math.round(took)}`)
  .join('; ')"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser, until the context ends. Raises LookupError if there is none."""
    if CHROMIUM is None:
        raise LookupError("no Chromium on this machine: install the package chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise LookupError("the Python package playwright is not installed") from None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def visit(browser: Browser, who: str) -> BrowserContext:
    """A browser in which the user is logged in: the token stands for the cookie."""
    context = browser.new_context(
        viewport={"width": 1400, "height": 900}, extra_http_headers={"Authorization": f"Bearer {token(who)}"}
    )
    context.set_default_timeout(SLOW)
    return context


def measure_loads(report: Report, browser: Browser, platform: StudioPlatform, who: str) -> None:
    """How long until the overview is filled, with an empty cache of the browser and with a full one."""
    say("the overview, again and again")
    visits = ("for the first time", "the browser knows the program")
    filled: dict[str, list[float]] = {each: [] for each in visits}
    parts: dict[str, list[list[float]]] = {each: [] for each in visits}
    empty = []
    for _ in range(LOADS):
        context = visit(browser, who)
        page = context.new_page()
        page.goto(platform.page("api/v1/health"))
        empty.append(page.evaluate(_LOADED))
        context.close()
        context = visit(browser, who)
        context.add_init_script(_FILLED)
        page = context.new_page()
        for each in visits:
            page.goto(platform.page(), wait_until="commit")
            filled[each].append(page.evaluate("window.filled") / 1000)
            parts[each].append(page.evaluate(_PARTS))
        context.close()
    for each in reversed(visits):
        document, program, asked, answered = (percentile(list(part), 50) for part in zip(*parts[each], strict=True))
        note = (
            f"of {LOADS}, slowest {max(filled[each]):.2f} s; ms until the document {document:.0f}, the program "
            f"{program:.0f}, the first request {asked:.0f}, the last answer {answered:.0f}; "
            f"a page of nothing, for the first time: {percentile(empty, 50):.0f}"
        )
        median = percentile(filled[each], 50)
        report.add(TOPIC, f"navigation to the filled overview, {each}: p50", median, "s", note, at_most=1)


def measure_scrolling(report: Report, browser: Browser, platform: StudioPlatform, admin: str) -> None:
    """Frames a second while the table of all tasks is scrolled, beside an empty page."""
    say("scrolling")
    context = visit(browser, admin)
    page = context.new_page()
    empty = _frames(page, None, 0)
    page.goto(platform.page("tasks?whose=all&state=live"))
    page.locator(".hai-Virtual").wait_for()
    _read_all(page)
    rows = int(page.get_by_test_id("hai-tasks-table").get_attribute("aria-rowcount") or 0) - 1
    scrolled = {name: _frames(page, ".hai-Virtual", step) for name, step in STEPS.items()}
    context.close()
    for name, table in scrolled.items():
        topic = f"a table of {rows:,} tasks, {name}"
        for part, percent in (("median", 50), ("slowest tenth", 90)):
            bare, drawn = 1000 / percentile(empty, percent), 1000 / percentile(table, percent)
            note = f"frames; an empty page beside it {bare:.1f}, ratio {drawn / bare:.2f}"
            report.add(TOPIC, f"{topic}: {part}", drawn, "/s", note, at_least=59 if part == "median" else None)


def _read_further(page: Page) -> None:
    page.evaluate("() => { const box = document.querySelector('.hai-Virtual'); box.scrollTop = box.scrollHeight; }")


def _frames(page: Page, selector: str | None, step: int) -> list[float]:
    return list(page.evaluate(_SCROLL, [selector, SCROLLED_S, step]))


def _read_all(page: Page) -> None:
    """Look at rows ever further down until the page has read them all."""
    reading = page.get_by_text("read so far")
    wait_for("all rows to be read", lambda: _read_further(page) or not reading.count(), pause=0.5)
    page.evaluate("() => { document.querySelector('.hai-Virtual').scrollTop = 0; }")
    page.wait_for_timeout(2000)


def measure_events(
    report: Report, browser: Browser, platform: StudioPlatform, who: str, admin: str, crowd: str
) -> None:
    """How long until a submission is on the screen, from the service's answer on, in three places."""
    say(f"events on the screen, {crowd}")
    head = {"priority": HEAD.name, "nodes": HEAD_NODES}
    ids = [_submitted(platform, who, "first", head)]
    for what, looks, path, options in (
        ("the own table", who, "tasks", {}),
        ("an admin's table of all", admin, "tasks?whose=all", {}),
        ("the queue of the overview", who, "", head),
    ):
        context = visit(browser, looks)
        page = context.new_page()
        page.goto(platform.page(path))
        _until_live(page)
        found = []
        for each in range(EVENTS):
            name = f"seen-{time.time_ns() % 10**12}-{each}"
            page.evaluate(_APPEARS, name)
            ids.append(_submitted(platform, who, name, options))
            answered = time.time()
            found.append(max(0.0, float(page.evaluate("window.appeared")) / 1000 - answered))
            if found[-1] > EVENT_S:
                say(f"{what}: {found[-1]:.2f} s; requests meanwhile: {page.evaluate(_REQUESTS, answered * 1000)}")
            page.wait_for_timeout(1500)
        context.close()
        note = f"slowest of {len(found)}; p50 {percentile(found, 50):.2f} s"
        report.add(TOPIC, f"a submission to the screen, {crowd}: {what}", max(found), "s", note, at_most=EVENT_S)
    for number in ids:
        try:
            platform.ask(who, "POST", f"/tasks/{number}/stop")
        except HTTPError as error:
            # Some have had their turn, and have ended.
            if error.code != HTTPStatus.CONFLICT:
                raise


def _submitted(platform: StudioPlatform, who: str, name: str, options: Mapping[str, Any]) -> int:
    body = {"name": name, "command": ["true"], "cwd": "/", "nodes": 8, "priority": "LOW", **options}
    return int(platform.ask(who, "POST", "/tasks", body)["id"])


def _until_live(page: Page) -> None:
    page.get_by_role("status").filter(has_text="Live").wait_for()
    page.wait_for_function("() => !document.body.textContent.includes('Loading')")


class Tab:
    """A tab that stays open, and the memory of its scripts."""

    def __init__(self, browser: Browser, platform: StudioPlatform, who: str, path: str) -> None:
        self.context = visit(browser, who)
        self.page = self.context.new_page()
        self.page.goto(platform.page(path))
        _until_live(self.page)
        self._devtools = self.context.new_cdp_session(self.page)
        self._devtools.send("Performance.enable")

    def heap_mib(self) -> float:
        """The heap after a collection of garbage, MiB."""
        for _ in range(3):
            self._devtools.send("HeapProfiler.collectGarbage")
        return float(self._devtools.send("Runtime.getHeapUsage")["usedSize"]) / 2**20

    def nodes(self) -> int:
        """Nodes of the document, those that only scripts still hold included."""
        found = self._devtools.send("Performance.getMetrics")["metrics"]
        return next(int(each["value"]) for each in found if each["name"] == "Nodes")
