"""The panel's interfaces say what the models of the service say, in the layout of prettier."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from hai_scheduler.api.bindings import plan, typescript
from hai_scheduler.api.bindings.catalogue import Model, ModelField, read, shape_of
from unit.api.bindings.models import MoreOut, PartOut, ThingPut


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


def shown(annotation: Any) -> str:
    """The type of a field of an answer."""
    shape = shape_of(annotation, "field")
    field = ModelField(name="field", shape=shape, comment="", required=True, default=None)
    model = Model(name="FieldOut", module="here", base=None, doc=(), fields=(field,), sent=False)
    text = typescript.interfaces(
        [model], names={"FieldOut": "IField", "PartOut": "IPart"}, words={("a", "b"): "Letter"}
    )
    return text.partition("  field: ")[2].partition(";")[0]


@pytest.mark.parametrize(
    ("annotation", "written"),
    [
        (list[str | int], "(string | number)[]"),
        (list[Literal["x", "y"]], "('x' | 'y')[]"),
        (list[Literal["a", "b"]], "Letter[]"),
        (dict[str, int | None], "Record<string, number | null>"),
        (None | PartOut, "IPart | null"),
        (None | Literal["it's"], "'it\\'s' | null"),
        (list[list[bool]], "boolean[][]"),
    ],
)
def test_a_type_of_types(annotation: Any, written: str) -> None:
    assert shown(annotation) == written


@pytest.mark.parametrize(
    ("text", "literal"), [("a", "'a'"), ("it's", r"'it\'s'"), ("\\d", r"'\\d'"), ("\\'", r"'\\\''"), ('"', "'\"'")]
)
def test_a_literal_of_typescript_is_escaped(text: str, literal: str) -> None:
    assert typescript.quoted(text) == literal


def test_a_union_takes_the_fewest_lines_that_are_short_enough() -> None:
    start = "  kind:"

    def lines(room: int) -> int:
        return len(list(typescript.union(start, ["'a'", f"'{'w' * room}'"], "  ")))

    beside = typescript.WIDTH - len(f"{start} 'a' | '';")
    below = typescript.WIDTH - len("    'a' | '';")
    assert [lines(room) for room in (beside, beside + 1, below, below + 1)] == [1, 2, 2, 3]


def test_nothing_is_written_for_an_empty_comment_and_none_is_called_null() -> None:
    assert list(typescript.comment("", "  ")) == []
    assert list(typescript.comment("None: no limit.", "  ")) == ["  /** null: no limit. */"]
