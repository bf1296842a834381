"""The recipes name files and names that exist."""

from __future__ import annotations

import re

import pytest

from docs.kit import ROOT, text_of

PAGE = text_of("docs/recipes.md")
#: A path has a slash and no blank; what stands in a link is looked at elsewhere.
PATHS = sorted(set(re.findall(r"`([\w.-]+/[\w./-]*)`", PAGE)))


def where(path: str) -> str:
    """The path from the root of the repository."""
    return f"scheduler_service/{path}" if path.startswith("hai_scheduler/") else path


def test_there_are_recipes_with_paths() -> None:
    assert len(PATHS) > 40
    assert len(re.findall(r"^## ", PAGE, re.MULTILINE)) >= 8


@pytest.mark.parametrize("path", PATHS)
def test_a_file_that_a_recipe_names_is_there(path: str) -> None:
    assert (ROOT / where(path)).exists()


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("hai_scheduler/core/model/task.py", "class TaskSpec"),
        ("hai_scheduler/store/tables.py", "SPECS ="),
        ("hai_scheduler/store/rows.py", "SPEC:"),
        ("hai_scheduler/store/small_tables.py", "FACTS:"),
        ("hai_scheduler/store/transaction.py", "class Tx"),
        ("hai_scheduler/store/parts/nodes.py", "def put_mark"),
        ("hai_scheduler/service/tasks/submission.py", "class Submission"),
        ("hai_scheduler/api/wire/tasks.py", "class TaskDetail"),
        ("hai_scheduler/service/tasks/submissions.py", "def _task_of"),
        ("hai_scheduler/service/tasks/submission_checks.py", "def check_shape"),
        ("hai_scheduler/api/wire/tasks.py", "class VerdictOut"),
        ("hai_scheduler/api/bindings/plan.py", "PANEL:"),
        ("hai_scheduler/core/model/event_kinds.py", "class EventKind"),
        ("hai_scheduler/core/model/verdicts.py", "class VerdictKind"),
        ("hai_scheduler/core/model/policy.py", "class Policy"),
        ("hai_scheduler/service/shared/policy_numbers.py", "NUMBERS:"),
        ("client/hai_client/cli/verbs.py", "VERBS:"),
        ("tests/docs/test_rules.py", "HOMES ="),
    ],
)
def test_a_name_that_a_recipe_says_is_in_its_file(path: str, name: str) -> None:
    assert path in PATHS
    assert name in text_of(where(path))
    assert re.sub(r"\W|class |def ", "", name) in PAGE
