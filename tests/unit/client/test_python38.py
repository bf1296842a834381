"""The client and Slurm's commands run on Python 3.8, and on those after it: any image and laptop has one of them."""

from __future__ import annotations

import ast
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import hai_client
import hai_slurm
from ci.support import CLIENT_PYTHONS
from kit.interpreters import interpreter

#: The folders that have the packages.
HOMES = {package.__name__: Path(package.__file__).parents[1] for package in (hai_client, hai_slurm)}
NAMES = [
    *(str(path.relative_to(home)) for name, home in HOMES.items() for path in sorted((home / name).rglob("*.py"))),
    "hai_client/shims/hai-launch",
    "hai_slurm/shims/srun",
]
#: They import their framework, which is not here.
CALLBACKS = {f"hai_client/{name}.py" for name in ("lightning", "mlflow", "transformers")}
#: It chooses by version what it uses.
CHOOSES = {"hai_client/backports.py"}

#: Names of the standard library that came after 3.8, as they are written where they are used.
NEWER = {
    "asyncio.TaskGroup", "asyncio.timeout", "asyncio.to_thread", "datetime.UTC", "enum.StrEnum", "functools.cache",
    "importlib.resources.files", "itertools.batched", "itertools.pairwise", "math.lcm", "math.nextafter",
    "os.pidfd_open", "os.waitstatus_to_exitcode", "random.randbytes", "signal.pidfd_send_signal", "typing.Annotated",
    "typing.Self", "typing.TypeAlias", "types.NoneType", "types.UnionType", "sys.stdlib_module_names",
    "contextlib.chdir", "hashlib.file_digest", "string.removeprefix", "graphlib.TopologicalSorter",
}  # fmt: skip
NEWER_MODULES = {"graphlib", "tomllib", "zoneinfo"}
#: Methods of builtins that came after 3.8.
NEWER_METHODS = {
    "bit_count",
    "hardlink_to",
    "is_relative_to",
    "removeprefix",
    "removesuffix",
    "with_stem",
}
#: Keywords that a function of the standard library did not know yet.
NEWER_KEYWORDS = {
    "TemporaryDirectory": {"ignore_cleanup_errors", "delete"},
    "dataclass": {"kw_only", "match_args", "slots", "weakref_slot"},
    "zip": {"strict"},
}
#: Types that could not be subscripted before 3.9, where it is done when the program runs.
GENERIC = {"dict", "list", "set", "frozenset", "tuple", "type", "deque", "Callable", "Iterator", "Mapping", "Sequence"}


def tree_of(name: str) -> ast.Module:
    path = HOMES[name.partition("/")[0]] / name
    return ast.parse(path.read_text(encoding="utf-8"), filename=name, feature_version=(3, 8))


@pytest.mark.parametrize("name", NAMES)
def test_its_grammar_is_that_of_python_3_8(name: str) -> None:
    tree_of(name)


@pytest.mark.parametrize("name", sorted({*NAMES} - CHOOSES))
def test_it_uses_nothing_newer_of_the_standard_library(name: str) -> None:
    assert list(newer_in(tree_of(name))) == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from datetime import UTC", ["datetime.UTC"]),
        ("import os\nos.waitstatus_to_exitcode(0)", ["os.waitstatus_to_exitcode"]),
        ("import tomllib", ["tomllib"]),
        ("'x'.removeprefix('y')", [".removeprefix"]),
        ("@dataclass(frozen=True, slots=True)\nclass A: pass", ["dataclass(slots)"]),
        ("zip((), (), strict=True)", ["zip(strict)"]),
        ("A = list[int]", ["list[...]"]),
        ("A = dict[str, int] | None", ["dict[...]", "a union at run time"]),
        ("from __future__ import annotations\nx: list[int] = []\ndef f(a: dict[str, int]) -> int | None: ...", []),
        ("def f(a: list) -> int | None: ...", ["a union at run time"]),
        ("from typing import Callable\nA = Callable[[int], str]", []),
        ("from hai_client.backports import dataclass\n@dataclass(frozen=True, slots=True)\nclass A: pass", []),
        ("isinstance(1, int | A)", ["a union at run time"]),
        ("if TYPE_CHECKING:\n    A = list[int]", []),
        ("a = 1 | 2", []),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_search_itself_finds_what_it_should(code: str, found: list[str]) -> None:
    assert sorted(newer_in(ast.parse(code))) == sorted(found)


@pytest.mark.parametrize("version", CLIENT_PYTHONS)
def test_a_real_python_of_that_version_imports_all_of_it(version: str) -> None:
    modules = [name[:-3].replace("/", ".") for name in NAMES if name.endswith(".py") and name not in CALLBACKS]
    modules = [name.replace(".__init__", "") for name in modules if "__main__" not in name and "child" not in name]
    code = f"import sys, {', '.join(modules)}; print('%d.%d' % sys.version_info[:2])"
    homes = os.pathsep.join(map(str, HOMES.values()))
    env = {"PYTHONPATH": homes, "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ["PATH"]}
    command = [interpreter(version), "-W", "error", "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"{version}\n", "")


def newer_in(tree: ast.Module) -> Iterator[str]:
    """What the code uses that Python 3.8 does not have."""
    # typing's own names could always be subscripted, and our dataclass takes the newer keywords.
    fine = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in ("typing", "hai_client.backports")
        for alias in node.names
    }
    for node in evaluated(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in NEWER_MODULES)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names if f"{node.module}.{alias.name}" in NEWER)
            yield from [str(node.module)] if node.module in NEWER_MODULES else []
        elif isinstance(node, ast.Attribute):
            yield from newer_attribute(node)
        elif isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            given = set() if name in fine else {keyword.arg for keyword in node.keywords}
            if name == "isinstance" and isinstance(node.args[-1], ast.BinOp) and not is_type(*sides(node.args[-1])):
                yield "a union at run time"
            yield from (f"{name}({word})" for word in given & NEWER_KEYWORDS.get(name, set()))
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in GENERIC - fine:
            yield f"{node.value.id}[...]"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and is_type(node.left, node.right):
            yield "a union at run time"


def newer_attribute(node: ast.Attribute) -> Iterator[str]:
    name = f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else ""
    if name in NEWER:
        yield name
    elif node.attr in NEWER_METHODS:
        yield f".{node.attr}"


def sides(node: ast.BinOp) -> tuple[ast.expr, ast.expr]:
    return node.left, node.right


def is_type(*sides: ast.expr) -> bool:
    return any(
        (isinstance(side, ast.Constant) and side.value is None)
        or (isinstance(side, ast.Name) and side.id in {"int", "str", "float", "bytes", "bool"})
        or isinstance(side, ast.Subscript)
        for side in sides
    )


def evaluated(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that are evaluated when the program runs: annotations and what is for type checkers are not."""
    waiting: list[ast.AST] = [tree]
    lazy = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in ast.walk(tree))
    while waiting:
        node = waiting.pop()
        yield node
        for name, value in ast.iter_fields(node):
            if lazy and name in ("annotation", "returns"):
                continue
            if isinstance(node, ast.If) and name == "body" and getattr(node.test, "id", "") == "TYPE_CHECKING":
                continue
            waiting += [
                child for child in (value if isinstance(value, list) else [value]) if isinstance(child, ast.AST)
            ]
