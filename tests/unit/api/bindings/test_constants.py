"""Words, numbers and patterns that service, client and panel have in common."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from hai_scheduler.api.bindings import constants, plan
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.limits import NAME, NAME_LENGTH

ROOT = Path(__file__).parents[4]


def test_every_named_word_list_has_its_type_in_the_panel() -> None:
    types = plan.files()["lab_extension/src/api/types.ts"]
    assert "  kind: VerdictKind;" in types
    assert all(re.search(rf"^export type {name} =", types, re.MULTILINE) for name in constants.WORDS.values())


@pytest.mark.parametrize(("text", "fits"), [("a" * NAME_LENGTH, True), ("a" * (NAME_LENGTH + 1), False), ("-a", False)])
def test_the_pattern_of_names_is_as_long_as_its_limit(text: str, fits: bool) -> None:
    assert (NAME.fullmatch(text) is not None) is fits


#: Where the words themselves are written down.
_SOURCES = {"event_kinds.py", "constants.py", "constants.ts"}


def test_no_code_writes_a_kind_of_event_as_a_bare_text() -> None:
    bare = re.compile("|".join(f"[\"']{re.escape(kind)}[\"']" for kind in EventKind))
    folders = ["scheduler_service/hai_scheduler", "client/hai_client", "hub_config", "spawner", "lab_extension/src"]
    files = [
        path
        for folder in folders
        for pattern in ("*.py", "*.ts", "*.tsx")
        for path in (ROOT / folder).rglob(pattern)
        if path.name not in _SOURCES and ".spec." not in path.name and "testing" not in path.parts
    ]
    assert len(files) > 300
    assert [str(path) for path in files if bare.search(path.read_text(encoding="utf-8"))] == []


def test_the_client_s_module_has_the_values_of_the_service() -> None:
    text = constants.in_python("What.")
    module: dict[str, object] = {}
    exec(compile(ast.parse(text, feature_version=(3, 8)), "constants", "exec"), module)
    client = {one.name: one for one in constants.CONSTANTS if "client" in one.readers}
    assert {name: module[name] for name in client} == {name: one.value for name, one in client.items()}
    kinds = {name: value for name, value in vars(module["EventKind"]).items() if not name.startswith("_")}
    assert kinds == {kind.name: kind.value for kind in EventKind}
    assert all(f"#: {one.meaning}" in text for one in client.values())


def test_the_panel_s_module_has_the_values_of_the_service() -> None:
    text = constants.in_typescript("What.")
    panel = [one for one in constants.CONSTANTS if "panel" in one.readers]
    assert re.findall(r"^export const (\w+) =", text, re.MULTILINE) == [*(one.name for one in panel), "EventKind"]
    for one in panel:
        written = text.partition(f"export const {one.name} = ")[2].partition(";\n")[0]
        if isinstance(one.value, tuple):
            assert tuple(re.findall(r"'([^']*)'", written)) == one.value
            assert written.endswith("] as const")
        elif isinstance(one.value, str):
            assert written[1:-1].replace("\\\\", "\\") == one.value
        else:
            assert written == str(one.value)
        assert f"/** {one.meaning} */" in text


def test_a_word_list_of_the_panel_is_in_one_line_where_it_fits_and_a_word_a_line_else() -> None:
    lines = constants.in_typescript("What.").splitlines()
    assert "export const ENDED_STATES = ['succeeded', 'failed', 'stopped'] as const;" in lines
    assert max(map(len, (line for line in lines if not line.lstrip().startswith("/**")))) <= 110
    place = lines.index("export const TASK_STATES = [")
    assert lines[place + 1] == "  'queued',"
    assert lines[place + 9 : place + 11] == ["  'stopped'", "] as const;"]


def test_the_last_kind_of_event_has_no_comma_after_it() -> None:
    lines = constants.in_typescript("What.").splitlines()
    assert lines[-1] == "} as const;"
    assert re.fullmatch(r"  \w+: '[^']+'", lines[-2])
    assert all(line.endswith("',") for line in lines[:-2] if re.match(r"  \w+: '", line))


def test_types_of_words_follow_the_constants_and_import_what_they_need() -> None:
    text = constants.types_in_typescript()
    assert text.splitlines()[0] == (
        "import type { AUTO, PRIORITIES, PROFILES, TASK_STATES, VERDICT_KINDS } from './constants';"
    )
    assert "export type TaskState = (typeof TASK_STATES)[number];" in text
    assert text.endswith("export type PriorityChoice = typeof AUTO | PriorityName;")
