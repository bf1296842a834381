"""What the mutation run changes in a module, and that a change is in force in the process that it was put into."""

from __future__ import annotations

import ast
import gc
import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

from mutants.__main__ import CORE, ROOMS, chosen, equivalent
from mutants.operators import mutants_of, mutated
from mutants.replaced import functions_of, put
from mutants.trace import OFTEN, Tracer

MODULE = '''\
"""A module."""

from functools import lru_cache

LIMIT = 3


class Cap:
    """A cap."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    @property
    def small(self) -> bool:
        """Whether it is small."""
        return self.limit < LIMIT

    def allows(self, nodes: int, spare: int = 0) -> bool:
        assert nodes > 0, "no nodes"
        if nodes > self.limit:
            return any(part + spare >= nodes for part in (self.limit,))
        return True


@lru_cache
def twice(number: int) -> int:
    return number * 2
'''


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    path = tmp_path / "sample.py"
    path.write_text(MODULE)
    spec = importlib.util.spec_from_file_location("sample", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def changes(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "one.py"
    path.write_text(f"def f(a, b, c):\n    {text}\n")
    return [mutant.what for mutant in mutants_of(path)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = b < c", ["`b < c` -> `b <= c`"]),
        ("a = b in c", ["`b in c` -> `b not in c`"]),
        ("a = b < c == d", ["`b < c == d` -> `b <= c == d`", "`b < c == d` -> `b < c != d`"]),
        ("a = b and c", ["`b and c` -> `b or c`"]),
        ("a = not b", ["`not b` -> `b`"]),
        ("a = b + c", ["`b + c` -> `b - c`"]),
        ("a = 7", ["`7` -> `8`"]),
        ("a = True", ["`True` -> `False`"]),
        ("a = 'x'", ["`'x'` -> `'XXx'`"]),
        ("a = min(b)", ["`min(b)` -> `max(b)`"]),
        ("a = b(key=c)", ["`b(key=c)` without `key`"]),
        ("a = [b for b in c if b]", ["for without if `b`"]),
        ("a.b = c", ["without `a.b = c`"]),
        ("a += b", ["`a += b` -> `a -= b`", "without `a += b`"]),
        ("a(b)", ["without `a(b)`"]),
        ("return a", ["`return a` -> `return None`"]),
        ("raise a", ["without `raise a`"]),
        ("for a in b: break", ["`break` -> `continue`"]),
        ("while a: b = c", ["while `a` -> `False`"]),
        ("if a: return", ["if `a` -> `True`", "if `a` -> `False`"]),
        ("a = b if c else b", ["if `c` -> `True`", "if `c` -> `False`"]),
        ("assert a == 1", []),
        ("a = f'{b + 1}'", []),
        ("a: int = b", []),
        ("'''text'''", []),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_statement_has_these_mutants(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert changes(tmp_path, text) == expected


def test_a_mutant_names_the_function_and_the_lines_that_it_changes(module: ModuleType) -> None:
    found = mutants_of(Path(module.__file__))
    by_what = {mutant.what: mutant for mutant in found}
    compared = by_what["`self.limit < LIMIT` -> `self.limit <= LIMIT`"]
    assert (compared.function, compared.line) == ("Cap.small", 17)
    assert by_what["`part + spare >= nodes` -> `part + spare > nodes`"].function == "Cap.allows"
    assert by_what["`3` -> `4`"].function == "", "it runs when the module is imported"
    assert by_what["`0` -> `1`"].function == "", "so does the default of a parameter"


def test_every_mutant_of_the_rooms_is_another_program_of_the_same_lines() -> None:
    """Of each module the first, the middle and the last mutant; the functions are those of the original."""
    for room in ROOMS:
        for path in sorted((CORE / room).glob("*.py")):
            count = len(mutants_of(path))
            before = ast.parse(path.read_text(encoding="utf-8"))
            for number in {0, count // 2, count - 1} if count else ():
                after = mutated(path, number)
                assert ast.dump(after) != ast.dump(before), (path, number)
                assert names(after) == names(before), (path, number)
                compile(after, str(path), "exec")


def names(tree: ast.Module) -> list[tuple[str, int]]:
    return [(node.name, node.lineno) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def in_child(does) -> int:
    """The status with which a child process ends that calls `does`: 1 if it returned something true."""
    pid = os.fork()
    if pid == 0:
        os._exit(int(bool(does())))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize(
    ("what", "notices"),
    [
        ("`self.limit < LIMIT` -> `self.limit <= LIMIT`", lambda module: module.Cap(3).small),
        ("if `nodes > self.limit` -> `False`", lambda module: module.Cap(1).allows(2)),
        ("`part + spare >= nodes` -> `part + spare > nodes`", lambda module: not module.Cap(1).allows(2, 1)),
        ("`number * 2` -> `number / 2`", lambda module: module.twice(4) == 2),
    ],
    ids=["a property", "a method", "a generator in a method", "a function with a cache"],
)
def test_a_mutant_is_in_force_in_the_child_and_not_in_the_parent(module: ModuleType, what: str, notices) -> None:
    path = Path(module.__file__)
    mutant = next(each for each in mutants_of(path) if each.what == what)
    functions = functions_of([path])
    assert in_child(lambda: put(mutant, functions) and notices(module)) == 1
    assert not notices(module)


def test_a_mutant_of_a_function_that_does_not_live_here_is_told_apart(module: ModuleType) -> None:
    assert not put(mutants_of(Path(module.__file__))[-1], {})


def test_a_function_is_found_after_the_garbage_collector_was_told_to_leave_it_out(module: ModuleType) -> None:
    gc.freeze()  # as tests/conftest.py does after it has imported what all tests need
    try:
        found = functions_of({Path(str(module.__file__))})
    finally:
        gc.unfreeze()
    assert {name for _, name, _ in found} >= {"Cap.small", "Cap.allows", "twice"}


def test_the_tracer_knows_the_lines_of_each_test(module: ModuleType) -> None:
    tracer, file = Tracer({module.__file__}), module.__file__
    lines, seconds = tracer.run(lambda: module.Cap(1).allows(1))
    assert {(file, 21), (file, 23)} <= lines
    assert (file, 22) not in lines
    assert seconds >= 0
    assert (file, 28) in tracer.run(lambda: module.twice(5))[0]
    often, _ = tracer.run(lambda: [module.Cap(1).allows(1) for _ in range(OFTEN)])
    assert (file, 22) in often, "what is called so often counts as run wholly"


def test_a_sample_is_the_same_whatever_else_is_tried() -> None:
    alone = chosen(["capacity/group_capacity"], 5, 13)
    assert len(alone) == 5
    assert [each for each in chosen(["capacity"], 5, 13) if each.path.stem == "group_capacity"] == alone
    assert chosen(["capacity/group_capacity"], 5, 14) != alone


def test_a_room_that_is_not_there_is_named() -> None:
    with pytest.raises(SystemExit, match="no room or module cellar"):
        chosen(["cellar"], None, 13)


def test_what_no_test_can_notice_is_still_a_mutant_of_the_core() -> None:
    """A line of a mutant that is no more would hide nothing, and tell a reader what is not so."""
    names = {mutant.name for room in ROOMS for path in (CORE / room).glob("*.py") for mutant in mutants_of(path)}
    assert equivalent() - names == set()
    assert not {mutant.name for mutant in chosen(list(ROOMS), None, 13)} & equivalent()
