"""Which language a terminal has, and that its catalogue is complete."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import languages
from hai_client.cli.language import catalogue


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, None),
        ({"LANG": "C.UTF-8"}, None),
        ({"LANG": "en_GB.UTF-8"}, None),
        ({"LANG": "de_DE.UTF-8"}, None),
        ({"LANG": "zh_CN.UTF-8"}, "zh_CN"),
        ({"LANG": "zh_CN"}, "zh_CN"),
        ({"LANG": "zh_SG.GBK"}, "zh_CN"),
        ({"LANG": "zh_TW.UTF-8"}, None),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "C"}, None),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh_CN"),
        ({"LC_MESSAGES": "zh_CN.UTF-8", "LC_ALL": "en_US.UTF-8"}, None),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh_CN"),
        ({"LANG": "../../etc/passwd"}, None),
    ],
)
def test_the_locale_says_which_language(environ: dict[str, str], name: str | None) -> None:
    assert catalogue.language(environ) == name


@pytest.mark.parametrize("locale", [folder.name for folder in languages.LOCALES.iterdir()])
def test_each_language_of_the_panel_has_all_texts_of_the_command(locale: str) -> None:
    """And no others: `make reference` writes the files again."""
    written = Path(catalogue.__file__).with_name(f"{locale}.json").read_text(encoding="utf-8")
    assert written == languages.text(locale)
    assert all(json.loads(written).values()), "each text is filled"


def test_the_texts_of_the_command_are_found_by_any_python() -> None:
    """The panel's check of its catalogues asks for them without this project's environment."""
    assert languages.CONTEXT == catalogue.CONTEXT
    found = set(languages.keys())
    assert {"step %1 of %2", "state\x04queued", "Submitted", "folder\x04In", "Lasted"} <= found


def test_titles_and_labels_are_written_as_the_terminal_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (catalogue.heading("Priority"), catalogue.label("Submitted")) == ("PRIORITY", "submitted")
    assert catalogue.label("Run %1 used", 2) == "run 2 used"
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert (catalogue.heading("Priority"), catalogue.label("Submitted")) == ("优先级", "提交时间")


def test_values_are_put_in_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    assert catalogue.say("%2 of %1, %3", "a", "%1") == "%1 of a, %3"
    assert catalogue.sentences("One.", None, "", "Two.") == "One. Two."
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert catalogue.sentences("一。", "二。") == "一。二。"
    assert catalogue.say_in("state", "failed") == "失败"
    assert catalogue.say("a text that nobody has translated") == "a text that nobody has translated"
