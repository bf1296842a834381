"""Why a task waits is said in all languages: no kind is left to English."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest
from jupyterlab_server.translation_utils import get_language_packs

from hai_scheduler.api.convert import cluster
from hai_scheduler.core.explaining.alternatives import ChangeKind
from hai_scheduler.core.explaining.short import QUOTA_OF_OTHERS
from hai_scheduler.core.model.verdicts import VerdictKind
from hai_scheduler.service.insight import trial
from hai_scheduler.service.shared.policy_numbers import NUMBERS

_LAB = Path(__file__).parents[3] / "lab_extension"
_TEXTS = _LAB / "src" / "text"
_LOCALES = _LAB / "hai_lab" / "locale"


def _table(name: str) -> set[str]:
    """Return the keys of a table of `verdicts.ts`."""
    text = (_TEXTS / "verdicts.ts").read_text(encoding="utf-8")
    body = re.search(rf"^const {name}: .*?= {{\n(.*?)^}};", text, re.MULTILINE | re.DOTALL)
    assert body is not None
    return set(re.findall(r"^  (\w+): ", body[1], re.MULTILINE))


def test_each_verdict_and_no_other_is_said_in_all_languages() -> None:
    assert _table("VERDICTS") == {kind.value for kind in VerdictKind}


def test_each_short_wait_and_no_other_is_said_in_all_languages() -> None:
    assert _table("SHORT") == {kind.value.lower() for kind in VerdictKind} | {QUOTA_OF_OTHERS}


@pytest.mark.parametrize("kind", list(ChangeKind))
def test_each_change_that_would_let_a_task_start_is_said_in_all_languages(kind: ChangeKind) -> None:
    assert f"case '{kind.value}':" in (_TEXTS / "changes.ts").read_text(encoding="utf-8")


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


def test_each_assumption_of_a_trial_and_a_preview_is_said_in_all_languages() -> None:
    made = {
        name
        for module, pattern in ((trial, r'TrialAssumption\(\s*"(\w+)"'), (cluster, r'AssumptionOut\(\s*name="(\w+)"'))
        for name in re.findall(pattern, inspect.getsource(module))
    }
    assert "work" in made
    assert "lengths" in made
    said = re.findall(
        r"^  (\w+): \(?[\w, ]*\)? =>", (_TEXTS / "assumptions.ts").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert set(said) == made
    assert len(said) == len(made)


@pytest.mark.parametrize("locale", [path.name for path in _LOCALES.iterdir()])
def test_jupyterlab_offers_each_language_and_finds_our_texts_in_it(locale: str) -> None:
    """It offers only languages of which it has a pack, and looks for texts by a tag with a dash."""
    assert locale in get_language_packs()[0]
    head = json.loads((_LOCALES / locale / "LC_MESSAGES" / "hai_lab.json").read_text(encoding="utf-8"))[""]
    assert (head["domain"], head["language"]) == ("hai_lab", locale.replace("_", "-"))
