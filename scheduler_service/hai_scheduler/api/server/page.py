"""The page of HAI at the service's address: static files out of the wheel `hai-lab`, and the document that loads them.

The files of the program are public, like those of the Hub's own pages: their names hold digests of what is in them, so
that a browser keeps them. The document itself is for users who are logged in, and is never kept. What the page shows it
asks of the interface, as any other client does.
"""

from __future__ import annotations

import gzip
import html
import re
import site
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tornado.web import HTTPError, RequestHandler

from hai_scheduler.api.server.auth import Auth, HubHandler, address, log_in, set_security_headers
from hai_scheduler.api.server.kinds import Kind
from hai_scheduler.api.server.limits import HELD_BACK, Limits
from hai_scheduler.api.server.problems import Refused

#: Where `pip install hai-lab` puts the page, below the environment's root.
WHERE: Final = Path("share") / "hai" / "page"
#: Below the service's prefix: the files of the program.
FILES: Final = "page"
#: Paths below the prefix that the page shows: a name, and for a task its number.
PATHS: Final = r"(?!api/)(?:[a-z]+(?:/[0-9]+)?)?"
#: Nothing comes from elsewhere, nothing is written into the document as a script or a style, and nobody may frame it.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: Files of the program never change: another build has other names.
FOREVER: Final = "public, max-age=31536000, immutable"

_TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_STATUS: Final[Mapping[str, int]] = {"unavailable": 503, "too_many": 429}
_HASHED: Final = re.compile(r"[\w-]+\.[0-9a-f]{8,}\.[a-z]+")
_MISSING: Final = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>HAI</title>
<h1>HAI</h1>
<p>The page of HAI is not installed beside the scheduler service. An administrator installs it with
<code>pip install hai-lab</code>, in the environment that the service runs in, and restarts the service.</p>
<p><a href="{lab}">Open JupyterLab</a>: its panel HAI shows the cluster and your tasks.</p>
</html>
"""


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file of the program, plain and compressed."""

    kind: str
    plain: bytes = field(repr=False)
    packed: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class StudioPage:
    """The built page. It is read once, when the service starts."""

    #: The document, with `%PREFIX%` and `%HUB%` where the two addresses go; None: the page is not installed.
    document: str | None = None
    files: Mapping[str, PageFile] = field(default_factory=lambda: MappingProxyType({}))


def read_page(folder: Path | None = None) -> StudioPage:
    """Return the page that was built into a folder; one without a document where there is none.

    Args:
        folder: Where its files are; None: where `pip install hai-lab` puts them in this environment.

    Raises:
        OSError: A file is there and cannot be read.
    """
    folder = folder or _installed()
    document = folder / "index.html"
    if not document.is_file():
        return StudioPage()
    files = {path.name: _file(path) for path in sorted(folder.iterdir()) if _HASHED.fullmatch(path.name)}
    return StudioPage(document.read_text(encoding="utf-8"), MappingProxyType(files))


def _installed() -> Path:
    """Return where pip has put the page: below the environment, Debian's /usr/local, or the home of `pip --user`."""
    roots = (sys.prefix, sysconfig.get_path("data"), site.getuserbase())
    return next((found for root in roots if (found := Path(root) / WHERE).is_dir()), Path(sys.prefix) / WHERE)


def _file(path: Path) -> PageFile:
    plain = path.read_bytes()
    kind = _TYPES.get(path.suffix, "application/octet-stream")
    return PageFile(kind, plain, gzip.compress(plain, mtime=0))


class PageDocument(HubHandler):
    """Handles the addresses of the page: all of them are one document, which finds out what to show."""

    def initialize(self, *, auth: Auth, limits: Limits, page: StudioPage, prefix: str) -> None:  # type: ignore[override]  # as the routing rule says
        """Take the arguments of the routing rule; tornado calls this."""
        super().initialize(auth=auth)
        self._limits, self._page, self._prefix = limits, page, prefix

    async def get(self) -> None:
        """Send the document, after a login if the user is not logged in."""
        if self.request.path == self._prefix.rstrip("/"):
            self.redirect(self._prefix)
            return
        try:
            caller = await log_in(self, self._limits)
        except Refused as refused:
            if refused.code == "unauthorized":
                self.redirect(self.get_login_url())
                return
            await _hold_back(self._limits, refused)
            raise HTTPError(_STATUS.get(refused.code, 403), refused.detail) from None
        self.set_header("Content-Type", "text/html; charset=utf-8")
        if self._page.document is None:
            self.set_status(404)
            self.finish(_MISSING.format(lab=html.escape(self.auth.lab_url)))
            return
        # A request of the page proves with a cookie that it comes from the page. To those whom it does not know,
        # JupyterHub gives one that lasts only an hour.
        self.current_user = caller.name
        _ = self.xsrf_token
        self.set_header("Content-Security-Policy", POLICY)
        hub = f"{self.auth.hub.hub_host}{self.auth.hub.hub_prefix}"
        text = self._page.document
        for place, value in (("%PREFIX%", self._prefix), ("%HUB%", hub)):
            text = text.replace(place, html.escape(value))
        self.finish(text)


async def _hold_back(limits: Limits, refused: Refused) -> None:
    if refused.code == "too_many":
        await limits[Kind.PUBLIC].clock.sleep(HELD_BACK)


class PageFiles(RequestHandler):
    """Handles the files of the program."""

    def initialize(self, *, limits: Limits, page: StudioPage) -> None:
        """Take the arguments of the routing rule; tornado calls this."""
        self._limits, self._page = limits, page

    def set_default_headers(self) -> None:
        """Set the security headers of every answer."""
        set_security_headers(self)

    async def get(self, name: str) -> None:
        """Send a file, compressed for a browser that takes it so."""
        try:
            place = self._limits.arrive(Kind.PUBLIC, address(self))
        except Refused as refused:
            await _hold_back(self._limits, refused)
            raise HTTPError(_STATUS[refused.code], refused.detail) from None
        try:
            await place.begin()
            place.charge_size(self._send(name))
        except Refused as refused:
            raise HTTPError(_STATUS[refused.code], refused.detail) from None
        finally:
            place.end()

    def _send(self, name: str) -> int:
        """Send a file; return its size as it is sent, in bytes."""
        file = self._page.files.get(name)
        if file is None:
            raise HTTPError(404)
        self.set_header("Content-Type", file.kind)
        self.set_header("Cache-Control", FOREVER)
        self.set_header("Vary", "Accept-Encoding")
        packed = "gzip" in self.request.headers.get("Accept-Encoding", "")
        if packed:
            self.set_header("Content-Encoding", "gzip")
        body = file.packed if packed else file.plain
        self.finish(body)
        return len(body)
