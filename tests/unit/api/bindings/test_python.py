"""The client's dataclasses say what the models of the service say, in Python 3.8."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from hai_scheduler.api.bindings import plan, python
from hai_scheduler.api.bindings.catalogue import read
from unit.api.bindings.models import MoreOut, WordyOut


def written(*models: Any, **options: Any) -> str:
    """The client's classes of some models, without the head of the module."""
    found = read(models)
    names = {model.name: plan.client_name(model.name) for model in found}
    homes = dict.fromkeys(names, "here")
    text = python.module("What.", found, names=names, homes=homes, home="here", asked=options.get("asked", frozenset()))
    return text[text.index("@dataclass") :]


def test_a_model_becomes_a_dataclass() -> None:
    assert written(MoreOut, asked=frozenset({("PartOut", "limit")})) == (
        "@dataclass(frozen=True, slots=True, kw_only=True)\n"
        "class Part:\n"
        '    """A part. limit None is no limit."""\n'
        "\n"
        "    limit: int | None\n"
        "    kind: str  #: One of left, right.\n"
        "\n"
        "\n"
        "@dataclass(frozen=True, slots=True, kw_only=True)\n"
        "class Whole:\n"
        '    """Something whole.\n'
        "\n"
        "    With a second paragraph.\n"
        '    """\n'
        "\n"
        "    at: datetime | None = None  #: When it was made; None: nobody knows.\n"
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


def test_a_comment_without_room_beside_its_field_stands_above_it() -> None:
    assert written(WordyOut).endswith(
        "    #: What is said of this field is so much that it has no room beside the field, and so it "
        "stands above, in lines of\n"
        "    #: the width that all lines have.\n"
        "    much: int\n"
    )


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
        "hai_client.cli.language.catalogue",
        "hai_client.cli.shared.asked",
        "hai_client.wire.identities",
        "hai_client.wire.schema",
    }
