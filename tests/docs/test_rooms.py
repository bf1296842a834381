"""Folders are rooms: each says what it is for, holds more than one file, and is on the page of the architecture."""

from __future__ import annotations

import re

import pytest

from docs.kit import ROOT, text_of
from docs.rooms import PAGE, containers, first_line, page, path_of

ROOMS = [
    f"{container}.{room}"
    for container, layers in containers().items()
    for layer in layers
    for room in layer
    if path_of(f"{container}.{room}").is_dir()
]


def test_the_page_shows_the_rooms_as_they_are() -> None:
    assert text_of(PAGE) == page(), "run: make reference"


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_in_a_line_what_it_is_for(room: str) -> None:
    assert first_line(room).endswith(".")


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_more_than_one_file(room: str) -> None:
    folder = path_of(room)
    inside = [path for path in folder.glob("*") if path.suffix == ".py" or (path / "__init__.py").is_file()]
    assert len([path for path in inside if path.name != "__init__.py"]) > 1


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_hands_nothing_on_from_its_files(room: str) -> None:
    text = (path_of(room) / "__init__.py").read_text(encoding="utf-8")
    imports = [line for line in text.split("\n") if line.startswith((f"from {room}.", "from ."))]
    assert imports == []


def test_every_file_that_the_page_of_the_architecture_names_by_its_path_is_there() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:hai_client|app|api|service|core|ports|adapters|store|sim)/[\w/]+(?:\.py|/))`", text))
    roots = (ROOT / "scheduler_service" / "hai_scheduler", ROOT / "client")
    assert [name for name in sorted(named) if not any((root / name).exists() for root in roots)] == []
    assert len(named) > 40
