"""What a look-up as a user's account prints, and how the service reads it: nothing in it is believed unseen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hai_scheduler.adapters.environments import answers, listing, lookup
from hai_scheduler.ports.haienvs import HaienvFault
from kit.builders import a_pin
from kit.haienv_folders import publish


@pytest.fixture
def root(tmp_path: Path) -> str:
    for pin in (a_pin(), a_pin(generation=4), a_pin("groups/cv/text"), a_pin("base/torch")):
        publish(tmp_path, pin)
    return str(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    lookup.main(list(words))
    return json.loads(capsys.readouterr().out)


def test_what_is_printed_is_read_as_it_was_meant(root: str, capsys: pytest.CaptureFixture[str]) -> None:
    mine = listing.listed(root, "ann", ["cv"])
    assert [one.name for one in mine.items] == ["users/ann/vision", "groups/cv/text", "base/torch"]
    assert answers.list_of(said(capsys, root, "list", "ann", "cv", "mine")) == mine
    every = listing.listed(root, "eve", [], everybodys=True)
    assert len(every.items) == 3
    assert answers.list_of(said(capsys, root, "list", "eve", "", "all")) == every
    shown = answers.detail_of(said(capsys, root, "show", "ann", "cv", "vision@3"))
    assert shown == listing.shown(root, "ann", ["cv"], "vision@3")
    assert (shown.generation, shown.found.generation, shown.packages) == (3, 4, {"numpy": "2.3.1"})
    assert answers.pin_of(said(capsys, root, "find", "ann", "", "vision@3")) == a_pin()


def test_a_fault_is_printed_with_its_kind(root: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, root, "show", "ann", "", "nothing")["kind"] == "UnknownHaienv"
    assert said(capsys, root, "show", "ann", "", "../x")["kind"] == "HaienvFault"
    assert said(capsys, root, "explode")["kind"] == "HaienvFault"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", 3),
        ("generation", "3"),
        ("generation", True),
        ("generations", [1, "2"]),
        ("generations", None),
        ("size", 1.5),
        ("draft", 1),
        ("cuda", 12),
        ("trouble", None),
        ("more", "x"),
    ],
)
def test_an_answer_of_another_shape_is_refused(
    root: str, capsys: pytest.CaptureFixture[str], field: str, value: object
) -> None:
    answer = said(capsys, root, "list", "ann", "", "mine")
    answer["items"][0][field] = value
    with pytest.raises(HaienvFault, match="wrong answer"):
        answers.list_of(answer)


@pytest.mark.parametrize("answer", [{}, {"items": {}}, {"items": [], "cut": 0}, {"items": [3], "cut": False}])
def test_a_list_of_another_shape_is_refused(answer: dict[str, Any]) -> None:
    with pytest.raises(HaienvFault, match="wrong answer"):
        answers.list_of(answer)


@pytest.mark.parametrize("change", [{"packages": {"a": 1}}, {"prefix": None}, {"generation": "3"}, {"found": None}])
def test_a_detail_of_another_shape_is_refused(
    root: str, capsys: pytest.CaptureFixture[str], change: dict[str, Any]
) -> None:
    answer = said(capsys, root, "show", "ann", "", "vision")
    with pytest.raises(HaienvFault, match="wrong answer"):
        answers.detail_of({**answer, **change})
