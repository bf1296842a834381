"""Why a task waits is said in all languages: no kind is left to English."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hai_scheduler.core.explaining.alternatives import ChangeKind
from hai_scheduler.core.explaining.short import QUOTA_OF_OTHERS
from hai_scheduler.core.model.verdicts import VerdictKind

_TEXTS = Path(__file__).parents[3] / "lab_extension" / "src" / "text"


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
