"""Studio in its two shells, as its users come to it: the page of the service, and a tab of their JupyterLab."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

from playwright.sync_api import BrowserContext, Locator, Page, expect

from e2e.conftest import ROOT, Platform
from e2e.test_browser import SLOW, START

_CATALOGUE = ROOT / "lab_extension" / "hai_lab" / "locale" / "zh_CN" / "LC_MESSAGES" / "hai_lab.json"
_CHINESE: dict[str, list[str]] = json.loads(_CATALOGUE.read_text(encoding="utf-8"))
#: Names of themes, as JupyterLab has them.
_LAB_THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
_SETTINGS = {"language": "translation-extension/plugin", "theme": "apputils-extension/themes"}


@dataclass(frozen=True)
class Seat:
    """Where a user sits: in front of which shell, in which language and theme."""

    shell: Literal["page", "lab"]
    language: Literal["en", "zh"]
    theme: Literal["light", "dark"]

    def __str__(self) -> str:
        return f"{self.shell}-{self.language}-{self.theme}"


#: By turns: where a researcher goes a way first, and where again. Each is gone in both shells, languages and themes,
#: and four ways pass through all that there is.
_TURNS = (
    (Seat("page", "en", "light"), Seat("lab", "zh", "dark")),
    (Seat("page", "en", "dark"), Seat("lab", "zh", "light")),
    (Seat("page", "zh", "light"), Seat("lab", "en", "dark")),
    (Seat("page", "zh", "dark"), Seat("lab", "en", "light")),
)


def seats(way: int) -> tuple[Seat, Seat]:
    """Return the two seats of a way of a researcher, by its number."""
    return _TURNS[way % len(_TURNS)]


def admin_seats(way: int) -> tuple[Seat, Seat]:
    """Return the two seats of a way of an admin: in both languages and themes.

    Both are before the page: the token of a JupyterLab server has no rights of an admin, even of an admin's.
    """
    first, _ = _TURNS[way % 2]
    other, _ = _TURNS[3 - way % 2]
    return first, other


def chinese(text: str) -> str:
    """Return what Studio says for it in Chinese."""
    said = _CHINESE[text][0]
    assert said not in ("", text)
    return said


class Shell(ABC):
    """A user's Studio in one shell. A user of both has both."""

    def __init__(self, context: BrowserContext, platform: Platform, user: str) -> None:
        self.platform = platform
        self.user = user
        self.page: Page = context.new_page()
        #: Errors of scripts, and violations of the Content-Security-Policy.
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._listen)
        self._seat: Seat | None = None

    @property
    def seat(self) -> Seat:
        assert self._seat is not None, "nobody sits there yet"
        return self._seat

    def sit(self, seat: Seat) -> None:
        """Have the shell in that language and theme, with Studio in it."""
        if seat != self._seat:
            self._arrive(seat)
            self._seat = seat

    def says(self, text: str, *values: object) -> str:
        """Return what is on the screen for an English text, with values in its places %1 and so on."""
        said = chinese(text) if self.seat.language == "zh" else text
        return re.sub(r"%(\d)", lambda place: str(values[int(place[1]) - 1]), said)

    def go(self, page: str, title: str) -> Locator:
        """Go to a page of Studio by its navigation."""
        link = self.studio().get_by_role("navigation").get_by_role("link", name=self.says(title), exact=True)
        link.click(timeout=SLOW)
        shown = self.page.get_by_test_id(f"hai-page-{page}")
        shown.wait_for(timeout=SLOW)
        return shown

    def open_task(self, name: str, *, number: int | None = None, whose: str = "") -> Locator:
        """Find a task in the table, by its number where several have its name, and open it.

        Args:
            name: Its name.
            number: Its number; None: it is the only one of that name.
            whose: `all` to look among the tasks of all users.
        """
        tasks = self.go("tasks", "Tasks")
        if whose:
            tasks.get_by_label(self.says("Whose tasks")).select_option(whose, timeout=SLOW)
        tasks.get_by_label(self.says("Filter tasks")).fill(name if number is None else str(number))
        link = tasks.get_by_test_id("hai-tasks-table").get_by_role("link", name=name, exact=True)
        # The rows of before are shown until the answer has come.
        expect(link).to_have_count(1, timeout=SLOW)
        link.click(timeout=SLOW)
        return self.task()

    def button(self, within: Locator, text: str, *values: object) -> Locator:
        """Return a button by its English text."""
        return within.get_by_role("button", name=self.says(text, *values), exact=True)

    def answer(self, text: str) -> None:
        """Press a button of the dialog that is open."""
        self.dialog().get_by_role("button", name=self.says(text), exact=True).click(timeout=SLOW)

    def told(self, text: str, *values: object) -> None:
        """Wait until it is said in a corner."""
        self.page.get_by_text(self.says(text, *values)).first.wait_for(timeout=SLOW)

    @abstractmethod
    def studio(self) -> Locator:
        """Show Studio, and return it."""

    @abstractmethod
    def task(self) -> Locator:
        """Return the view of the task that was opened last."""

    @abstractmethod
    def dialog(self) -> Locator:
        """Return the dialog that is open."""

    @abstractmethod
    def _arrive(self, seat: Seat) -> None: ...

    def _listen(self, message: object) -> None:
        text = str(getattr(message, "text", ""))
        if "Content Security Policy" in text or "Content-Security-Policy" in text:
            self.complaints.append(text)


class PageShell(Shell):
    """The page of the service."""

    def studio(self) -> Locator:
        return self.page.locator(".hai-Studio")

    def task(self) -> Locator:
        expect(self.page).to_have_url(re.compile(r"/tasks/\d+$"), timeout=SLOW)
        return self.page.get_by_test_id("hai-page-tasks")

    def dialog(self) -> Locator:
        return self.page.get_by_role("dialog")

    def _arrive(self, seat: Seat) -> None:
        tag = {"en": "en", "zh": "zh-CN"}[seat.language]
        address = f"{self.platform.url}/services/hai/"
        self.page.goto(address)
        # As the page's own choices leave them.
        self.page.evaluate(
            "([theme, language]) => { localStorage['hai-theme'] = theme; localStorage['hai-language'] = language; }",
            [seat.theme, tag],
        )
        self.page.goto(address)
        self.studio().wait_for(timeout=SLOW)
        root = self.page.evaluate("[document.documentElement.lang, document.documentElement.dataset.theme]")
        assert root == [tag, seat.theme]


class LabShell(Shell):
    """A tab of the user's JupyterLab."""

    def studio(self) -> Locator:
        found = self.page.locator(".hai-StudioWidget")
        if found.count() == 0:
            self.page.locator('.jp-LauncherCard[data-category="HAI"]').nth(2).click(timeout=SLOW)
        elif not found.is_visible():
            self.page.locator("#jp-main-dock-panel .lm-TabBar-tab", has_text="HAI").click()
        return found

    def task(self) -> Locator:
        found = self.page.locator(".hai-TaskWidget:visible")
        found.wait_for(timeout=SLOW)
        return found

    def dialog(self) -> Locator:
        return self.page.locator(".jp-Dialog")

    def _arrive(self, seat: Seat) -> None:
        # As JupyterLab's own menu *Settings* leaves them.
        language = {"en": "en", "zh": "zh_CN"}[seat.language]
        self._set("language", {"locale": language})
        self._set("theme", {"theme": _LAB_THEMES[seat.theme]})
        self.page.goto(f"{self.platform.url}/user/{self.user}/lab?reset")
        self.page.wait_for_url(re.compile(rf"/user/{self.user}/lab|/hub/spawn/"), timeout=2 * SLOW)
        if self.page.locator(START).count():
            self.page.click(START)
        self.page.locator(".jp-Launcher").wait_for(timeout=2 * SLOW)
        self.page.locator(f'body[data-jp-theme-light="{str(seat.theme == "light").lower()}"]').wait_for(
            state="attached", timeout=SLOW
        )

    def _set(self, what: str, values: dict[str, str]) -> None:
        folder, name = _SETTINGS[what].split("/")
        home = self.platform.state / "home" / self.user / ".jupyter" / "lab" / "user-settings" / "@jupyterlab"
        (home / folder).mkdir(parents=True, exist_ok=True)
        (home / folder / f"{name}.jupyterlab-settings").write_text(json.dumps(values))


SHELLS = {"page": PageShell, "lab": LabShell}
