"""The texts of the panel are there in all languages, with the words that the service has now."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jupyterlab_server.translation_utils import get_language_packs

from hai_scheduler.service.shared.policy_numbers import NUMBERS

_LAB = Path(__file__).parents[3] / "lab_extension"
_TEXTS = _LAB / "src" / "text"
_LOCALES = _LAB / "hai_lab" / "locale"


def test_each_policy_number_and_each_word_of_one_is_said_in_all_languages() -> None:
    """With the words that the service has now: a translation of other words is out of date."""
    text = (_TEXTS / "policyNumbers.ts").read_text(encoding="utf-8")
    said = {
        name or word: (double or single)
        for name, word, double, single in re.findall(
            r"""^  (?:(\w+)|'([\w ]+)'): \(\) =>\s+trans\.__\(\s*(?:"([^"]*)"|'([^']*)')""", text, re.MULTILINE
        )
    }
    assert said == {number.name: number.about for number in NUMBERS} | {
        f"{number.name} {choice.word}": choice.meaning for number in NUMBERS for choice in number.choices
    }


@pytest.mark.parametrize("locale", [path.name for path in _LOCALES.iterdir()])
def test_jupyterlab_offers_each_language_and_finds_our_texts_in_it(locale: str) -> None:
    """It offers only languages of which it has a pack, and looks for texts by a tag with a dash."""
    assert locale in get_language_packs()[0]
    head = json.loads((_LOCALES / locale / "LC_MESSAGES" / "hai_lab.json").read_text(encoding="utf-8"))[""]
    assert (head["domain"], head["language"]) == ("hai_lab", locale.replace("_", "-"))
