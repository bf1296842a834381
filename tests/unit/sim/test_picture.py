"""Pictures and the report, where matplotlib is installed."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hai_scheduler.sim.curves import SUFFIXES, Curves
from hai_scheduler.sim.figures import Row
from hai_scheduler.sim.report import page

pytest.importorskip("matplotlib")
from hai_scheduler.sim import picture


def some_curves(name: str = "hai") -> Curves:
    return Curves(name=name, hours=(0.5, 1.5, 2.5), occupancy=(0.2, 1.0, 0.4), waiting=(0, 3, 1))


@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_a_picture_is_of_the_kind_that_its_name_says(tmp_path: Path, suffix: str, magic: bytes) -> None:
    assert suffix in SUFFIXES
    files = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}{suffix}"
        picture.save(picture.draw([some_curves(), some_curves("fifo")], "a trace"), path)
        files.append(path.read_bytes())
    assert files[0].startswith(magic)
    assert files[0] == files[1], "nothing in it depends on when it was drawn"


class Elements(HTMLParser):
    """The elements of a page, and what they refer to."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.references: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.references += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]


def test_a_report_needs_nothing_else_and_shows_names_as_they_are() -> None:
    svg = picture.as_svg(picture.draw([some_curves()], "a trace"))
    text = page("a <trace>", ["hai", "x<y"], [Row("occupancy", ("1 %", "2 %"))], svg, ["<b>nothing</b> else"])
    elements = Elements()
    elements.feed(text)
    assert all(reference.startswith("#") for reference in elements.references)
    assert {"svg", "table", "li", "title"} <= set(elements.tags)
    assert not {"script", "b", "trace", "y", "img", "link"} & set(elements.tags)
    assert re.search(r"<th scope=\"row\">occupancy</th><td>1 %</td><td>2 %</td>", text)
