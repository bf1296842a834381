"""The client's dataclasses and the panel's types are what the models of the service say."""

from __future__ import annotations

import ast
import re
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from hai_scheduler.api.bindings import constants, plan, python, typescript
from hai_scheduler.api.bindings.__main__ import main, stale
from hai_scheduler.api.bindings.catalogue import UnknownTypeError, read
from hai_scheduler.api.wire.base import Input, Output
from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.limits import NAME, NAME_LENGTH

ROOT = Path(__file__).parents[3]


class PartOut(Output):
    """A part. limit None is no limit."""

    limit: int | None
    kind: Literal["left", "right"]


class WholeOut(Output):
    """Something whole.

    With a second paragraph.
    """

    #: When it was made; null: nobody knows.
    at: datetime | None
    parts: list[PartOut]
    names: dict[str, list[str]]
    each: Annotated[int, Field(ge=1)] | Literal["all"] | None = None
    tags: list[str] = Field(default=[])
    data: Any


class MoreOut(WholeOut):
    """More of it."""

    ready: bool = False


class ThingPut(Input):
    """Write a thing."""

    name: str
    grace_s: float = 1.5


def written(*models: Any, **options: Any) -> str:
    """The client's classes of some models, without the head of the module."""
    found = read(models)
    names = {model.name: plan.client_name(model.name) for model in found}
    homes = dict.fromkeys(names, "here")
    text = python.module("What.", found, names=names, homes=homes, home="here", asked=options.get("asked", frozenset()))
    return text[text.index("@dataclass") :]


def test_the_generated_files_are_what_the_models_say() -> None:
    assert stale(ROOT) == [], "run `make reference`"


def test_a_stale_file_fails_the_check_and_is_written_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path, text in plan.files().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    root = ["--root", str(tmp_path)]
    assert main([*root, "--check"]) == 0
    schema = tmp_path / "client/hai_client/wire/schema.py"
    schema.write_text(schema.read_text(encoding="utf-8").replace("nodes: int = 1", "nodes: int = 2"), encoding="utf-8")
    (tmp_path / "lab_extension/src/api/types.ts").unlink()
    assert main([*root, "--check"]) == 1
    said = capsys.readouterr().err
    assert "client/hai_client/wire/schema.py is not what the models of the service say: run `make reference`" in said
    assert "lab_extension/src/api/types.ts" in said
    assert main(root) == 0
    assert main([*root, "--check"]) == 0


def test_a_model_becomes_a_dataclass() -> None:
    assert written(MoreOut, asked=frozenset({("PartOut", "limit")})) == (
        "@dataclass(frozen=True, slots=True, kw_only=True)\n"
        "class Part:\n"
        '    """A part. limit None is no limit."""\n'
        "\n"
        "    limit: int | None\n"
        "    #: One of left, right.\n"
        "    kind: str\n"
        "\n"
        "\n"
        "@dataclass(frozen=True, slots=True, kw_only=True)\n"
        "class Whole:\n"
        '    """Something whole.\n'
        "\n"
        "    With a second paragraph.\n"
        '    """\n'
        "\n"
        "    #: When it was made; None: nobody knows.\n"
        "    at: datetime | None = None\n"
        "    parts: tuple[Part, ...]\n"
        "    names: dict[str, tuple[str, ...]]\n"
        "    each: int | str | None = None\n"
        "    tags: tuple[str, ...] = ()\n"
        "    data: Any\n"
        "\n"
        "\n"
        "@dataclass(frozen=True, slots=True, kw_only=True)\n"
        "class More(Whole):\n"
        '    """More of it."""\n'
        "\n"
        "    ready: bool = False\n"
    )


def test_a_model_becomes_an_interface() -> None:
    found = read([MoreOut, ThingPut])
    names = {model.name: plan.panel_name(model.name) for model in found}
    assert typescript.interfaces(found, names=names, words={("left", "right"): "Side"}) == (
        "\n"
        "/** A part. limit null is no limit. */\n"
        "export interface IPart {\n"
        "  limit: number | null;\n"
        "  kind: Side;\n"
        "}\n"
        "\n"
        "/** Something whole. With a second paragraph. */\n"
        "export interface IWhole {\n"
        "  /** When it was made; null: nobody knows. */\n"
        "  at: string | null;\n"
        "  parts: IPart[];\n"
        "  names: Record<string, string[]>;\n"
        "  each: number | 'all' | null;\n"
        "  tags: string[];\n"
        "  data: unknown;\n"
        "}\n"
        "\n"
        "/** More of it. */\n"
        "export interface IMore extends IWhole {\n"
        "  ready: boolean;\n"
        "}\n"
        "\n"
        "/** Write a thing. */\n"
        "export interface IThingPut {\n"
        "  name: string;\n"
        "  grace_s?: number;\n"
        "}"
    )


def test_a_long_choice_is_laid_out_as_prettier_does() -> None:
    words = [f"'{'w' * 30}{place}'" for place in range(4)]
    lines = list(typescript.union("  kind:", words, "  "))
    assert lines == ["  kind:", *(f"    | {word}" for word in words[:-1]), f"    | {words[-1]};"]


def test_a_type_without_a_description_is_refused_with_its_field() -> None:
    class OddOut(Output):
        """Odd."""

        pair: tuple[int, int]

    with pytest.raises(UnknownTypeError, match=r"OddOut\.pair: tuple\[int, int\] is a type that bindings do not know"):
        read([OddOut])


@pytest.mark.parametrize("path", [path for path in plan.files() if path.endswith(".py")])
def test_python_38_reads_what_the_client_gets(path: str) -> None:
    tree = ast.parse(plan.files()[path], feature_version=(3, 8))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= {
        "__future__",
        "dataclasses",
        "datetime",
        "typing",
        "hai_client.backports",
        "hai_client.wire.schema",
    }


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
