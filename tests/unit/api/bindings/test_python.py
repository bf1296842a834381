"""The client's dataclasses say what the models of the service say, in Python 3.8."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from hai_scheduler.api.bindings import plan, python
from hai_scheduler.api.bindings.catalogue import read
from unit.api.bindings.models import MoreOut


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
        "hai_client.wire.schema",
    }
