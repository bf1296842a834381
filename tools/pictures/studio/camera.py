"""Takes pictures of pages in a Chromium, and makes the files small."""

from __future__ import annotations

import io
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from pictures.studio.stage import Lab

CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS: Final = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
SIZE: Final = {"width": 1400, "height": 900}
#: Milliseconds after which what has not come never will.
SLOW: Final = 60_000
#: The most bytes of a picture.
BIGGEST: Final = 200_000
#: Languages of the page, as browsers and JupyterLab name them.
LANGUAGES: Final = {"en": "en-GB", "zh": "zh-CN"}
#: Writes a text for another one wherever it is shown.
_REPLACE: Final = """([shown, wanted]) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const text = texts.currentNode;
        if (text.data.includes(shown)) text.data = text.data.replaceAll(shown, wanted);
    }
}"""


class Camera:
    """A Chromium in which each user is logged in at most once for each theme and language."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        if CHROMIUM is None:
            raise RuntimeError("no Chromium on this machine: install the package chromium")
        self._lab = lab
        self._folder = folder
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        self._pages: dict[tuple[str, str, str], Page] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._browser.close()
        self._playwright.stop()

    def page(self, user: str, *, language: str = "en", theme: str = "light") -> Page:
        """Return a page of the user, who is logged in at the Hub."""
        key = (user, language, theme)
        if language == "zh" and not _has_chinese():
            raise RuntimeError("no font on this machine has Chinese: install one, such as fonts-wqy-microhei")
        if key not in self._pages:
            context = self._browser.new_context(
                viewport=SIZE, device_scale_factor=1, locale=LANGUAGES[language], color_scheme=theme,
                timezone_id="Europe/Berlin", reduced_motion="reduce",
            )  # fmt: skip
            page = context.new_page()
            page.set_default_timeout(SLOW)
            page.goto(f"{self._lab.url}/hub/home")
            page.fill("#username_input", user)
            page.fill("#password_input", self._lab.passwords[user])
            page.click("#login_submit")
            page.locator("#login_widget", has_text=user).wait_for()
            self._pages[key] = page
        return self._pages[key]

    def studio(self, page: Page, path: str, user: str) -> Page:
        """Open an address of Studio, and wait until nothing is being read."""
        page.goto(f"{self._lab.url}/services/hai/{path}")
        page.locator(".hai-Studio").wait_for()
        page.locator(".hai-FeedDot.hai-mod-live").first.wait_for()
        # The name comes with the first answer about the user, and pages for admins with it.
        page.get_by_role("banner").get_by_text(user, exact=True).wait_for()
        settled(page)
        return page

    def take(self, page: Page, name: str, user: str) -> int:
        """Write `NAME.png`, with the folder of the laboratory as the home of the user; returns its size in bytes."""
        page.evaluate(_REPLACE, [str(self._lab.folder), f"/home/{user}"])
        data = small(page.screenshot(animations="disabled"))
        if len(data) > BIGGEST:
            raise RuntimeError(f"{name}.png has {len(data)} bytes, the most is {BIGGEST}")
        (self._folder / f"{name}.png").write_bytes(data)
        return len(data)


def _has_chinese() -> bool:
    """Return whether some font has Chinese; true where that cannot be asked."""
    lister = shutil.which("fc-list")
    if lister is None:
        return True
    return bool(subprocess.run([lister, ":lang=zh"], capture_output=True, check=False).stdout.strip())


def settled(page: Page) -> None:
    """Wait until nothing says that it is loading, and fonts and charts are drawn."""
    page.wait_for_function("() => !/Loading…|正在加载/.test(document.body.innerText)", timeout=SLOW)
    page.evaluate("async () => { await document.fonts.ready; await new Promise(requestAnimationFrame); }")


def small(data: bytes) -> bytes:
    """Return the same picture with 256 colours, which pages hardly need more of."""
    picture = Image.open(io.BytesIO(data)).convert("RGB")
    options: dict[str, Any] = {"method": Image.Quantize.MEDIANCUT, "dither": Image.Dither.NONE}
    written = io.BytesIO()
    picture.quantize(256, **options).save(written, "PNG", optimize=True)
    return min(data, written.getvalue(), key=len)
