"""Builds docs/ into a site with search, and refuses links that lead nowhere: `make docs`.

Pages link to code as they do on a forge, by paths that leave docs/. Such files are copied into
the site, below `source/`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs"
CONFIG = ROOT / "zensical.toml"
#: Where the site comes to lie. `site_dir` of CONFIG says the same.
SITE = ROOT / "build" / "docs"


class Links(HTMLParser):
    """What a page of the site links to, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        link = values.get("href" if tag in {"a", "link"} else "src")
        if link is not None and not urlsplit(link).scheme and not link.startswith("//"):
            self.found.append(link)
        self.anchors.update(value for name in ("id", "name") if (value := values.get(name)))


def take_along(page: Path, link: str) -> str | None:
    """Copy the file outside of docs/ that a page links to into the site; of a folder, its files.

    Returns:
        The link to the copy; None if the link stays within docs/, or leads to a file that is not there.
    """
    # Pages of the site lie as their Markdown files do, so that links that are not to pages stay as they were written.
    written = PAGES / page.parent.relative_to(SITE) / unquote(urlsplit(link).path)
    target = Path(os.path.normpath(written))
    if target.is_relative_to(PAGES) or not target.is_relative_to(ROOT) or not target.exists():
        return None
    copy = SITE / "source" / target.relative_to(ROOT)
    if target.is_dir():
        copy.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in target.iterdir() if path.is_file())
        for name in names:
            shutil.copyfile(target / name, copy / name)
        copy /= "index.html"
        listed = "".join(f'<li><a href="{name}">{name}</a></li>' for name in map(escape, names))
        copy.write_text(f"<!doctype html><title>{escape(link)}</title><ul>{listed}</ul>", encoding="utf-8")
    else:
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(target, copy)
    return os.path.relpath(copy, page.parent)


def mend(page: Path) -> None:
    """Have links that leave docs/ lead to copies in the site."""
    text = page.read_text(encoding="utf-8")
    for link in sorted(set(Links(text).found), key=len, reverse=True):
        if link.startswith("../") and (copied := take_along(page, link)):
            text = text.replace(f'href="{link}"', f'href="{copied}"')
    page.write_text(text, encoding="utf-8")


def dead(site: Path) -> Iterator[str]:
    """Every link of a site that leads nowhere, with its page."""
    known = {page: Links(page.read_text(encoding="utf-8")) for page in sorted(site.rglob("*.html"))}
    for page, links in known.items():
        if page.name == "404.html":
            continue
        for link in links.found:
            parts = urlsplit(link)
            target = page if not parts.path else Path(os.path.normpath(page.parent / unquote(parts.path)))
            if target.is_dir():
                target /= "index.html"
            if not target.is_relative_to(site) or not target.exists():
                yield f"{page.relative_to(site)}: {link}: there is no such page"
            elif parts.fragment and target in known and unquote(parts.fragment) not in known[target].anchors:
                yield f"{page.relative_to(site)}: {link}: the page has no such heading"


def main() -> int:
    shutil.rmtree(SITE, ignore_errors=True)
    subprocess.run(
        [Path(sys.executable).parent / "zensical", "build", "--clean", "--strict", "--config-file", CONFIG], check=True
    )
    for page in sorted(SITE.rglob("*.html")):
        mend(page)
    wrong = sorted(set(dead(SITE)))
    print("\n".join(wrong) or f"the site is in {SITE.relative_to(ROOT)}: open {SITE.relative_to(ROOT)}/index.html")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
