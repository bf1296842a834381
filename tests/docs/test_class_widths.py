"""No class has more methods than one can say the meaning of in a sentence."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import pytest

from docs.kit import files, name_of

#: The most methods of a class.
WIDEST = 20
#: Wider classes, by the reason why they are left.
EXCEPTIONS = {
    "JupyterHub wants one class for a spawner, and calls its methods": """
        HaiSpawnerMixin HaiLocalSpawner HaiKubeSpawner HaiSpotLocalSpawner HaiSpotKubeSpawner""",
    "tornado wants one class for a request": "Endpoint",
}


class Shape(NamedTuple):
    """What the text of a class says."""

    methods: frozenset[str]
    bases: tuple[str, ...]


@cache
def shapes() -> dict[str, Shape]:
    """The classes of all packages."""
    texts = (file.read_text(encoding="utf-8") for file in files() if is_code(name_of(file)))
    return shapes_in(*texts)


def is_code(name: str) -> bool:
    return name.endswith(".py") and not name.startswith("tests/")


def shapes_in(*texts: str) -> dict[str, Shape]:
    """The classes in texts of Python; of several with one name, the widest one."""
    found: dict[str, Shape] = {}
    for node in (node for text in texts for node in ast.walk(ast.parse(text))):
        if isinstance(node, ast.ClassDef):
            defined = (part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef))
            shape = Shape(frozenset(part.name for part in defined), tuple(ast.unparse(base) for base in node.bases))
            known = found.get(node.name)
            if known is None or len(known.methods) < len(shape.methods):
                found[node.name] = shape
    return found


def methods_of(name: str, known: Mapping[str, Shape]) -> frozenset[str]:
    """The methods of a class with those that it inherits here: cut into mixins, a class is as wide as before."""
    shape = known.get(name)
    if shape is None:
        return frozenset()
    return shape.methods.union(*(methods_of(base, known) for base in shape.bases if base != name))


def wide(known: Mapping[str, Shape]) -> dict[str, int]:
    return {name: count for name in known if (count := len(methods_of(name, known))) > WIDEST}


def test_no_class_has_more_than_twenty_methods() -> None:
    """A wider one does several things; what holds between its parts can then not be said."""
    listed = set(" ".join(EXCEPTIONS.values()).split())
    assert {name: count for name, count in wide(shapes()).items() if name not in listed} == {}


def test_no_exception_is_there_without_need() -> None:
    listed = " ".join(EXCEPTIONS.values()).split()
    assert [name for name in listed if name not in wide(shapes()) or listed.count(name) > 1] == []


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_methods_of_mixins_count(kind: str) -> None:
    half = "".join(f"    {kind} first_{number}(self): ...\n" for number in range(11))
    rest = half.replace("first", "second")
    text = f"class First:\n{half}class Second:\n{rest}class Both(First, Second): ...\n"
    assert wide(shapes_in(text)) == {"Both": 22}
