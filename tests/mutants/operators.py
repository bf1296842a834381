"""The mutants of a module: every small change of its syntax tree that the table of operators knows."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Change = tuple[str, ast.AST]

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}
#: Calls whose text no decision depends on.
_UNCHANGED_CALLS = {"TypeVar", "NewType", "cast", "overload", "field"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one module.

    Attributes:
        path: The module's file.
        function: The qualified name of the outermost function that holds the change; empty in code that runs on import.
        line: The first line of what is changed.
        end: The last line of it.
        column: The column of its beginning.
        what: The change in words, such as `a < b` -> `a <= b`.
        number: The index among all mutants of the module.
    """

    path: Path
    function: str
    line: int
    end: int
    column: int
    what: str
    number: int

    @property
    def name(self) -> str:
        """A name that stays when other code of the module moves."""
        return f"{self.path.parent.name}/{self.path.stem} {self.function}: {self.what}"

    def __str__(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}:{self.line} {self.function or '(on import)'}: {self.what}"


@dataclass(frozen=True, slots=True)
class _Site:
    parent: ast.AST
    field: str
    index: int | None
    function: str

    def put(self, new: ast.AST) -> None:
        value = getattr(self.parent, self.field)
        if self.index is None:
            setattr(self.parent, self.field, new)
        else:
            value[self.index] = new


def mutants_of(path: Path) -> list[Mutant]:
    """All mutants of the module at `path`, in the order of its text."""
    found = []
    for number, (node, site, (what, _)) in enumerate(_changes(ast.parse(path.read_text(encoding="utf-8")))):
        place = node if hasattr(node, "lineno") else site.parent
        line, column = place.lineno, place.col_offset  # type: ignore[attr-defined]
        found.append(Mutant(path, site.function, line, place.end_lineno or line, column, what, number))  # type: ignore[attr-defined]
    return found


def mutated(path: Path, number: int) -> ast.Module:
    """The tree of the module at `path` with its mutant `number`. Lines are those of the original."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for count, (node, site, (_, new)) in enumerate(_changes(tree)):
        if count == number:
            for each in ast.walk(new):
                if isinstance(each, ast.expr | ast.stmt) and not hasattr(each, "lineno"):
                    ast.copy_location(each, node)
            site.put(new)
            return ast.fix_missing_locations(tree)
    raise IndexError(f"{path} has no mutant {number}")


def _changes(tree: ast.Module) -> Iterator[tuple[ast.AST, _Site, Change]]:
    for node, site in _sites(tree, "", inside=False):
        for kind, operator in _OPERATORS:
            if isinstance(node, kind):
                for change in operator(node):
                    yield node, site, change


def _sites(node: ast.AST, name: str, *, inside: bool) -> Iterator[tuple[ast.AST, _Site]]:
    """Yield every node that may change, with where it hangs.

    Args:
        node: Where to begin; it is not yielded itself.
        name: The qualified name of the class or of the outermost function that the node lies in.
        inside: Whether the node lies in a function.
    """
    for field, index, child in _children(node):
        defined = isinstance(child, ast.FunctionDef | ast.ClassDef) and not inside
        called = f"{name}.{child.name}".removeprefix(".") if defined else name  # type: ignore[attr-defined]
        # Defaults of parameters are computed when a function is defined, as the body of a class is.
        runs = (inside or isinstance(child, ast.FunctionDef)) and not isinstance(child, ast.arguments)
        yield child, _Site(node, field, index, name if inside else "")
        yield from _sites(child, called, inside=runs)


def _children(node: ast.AST) -> Iterator[tuple[str, int | None, ast.AST]]:
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list", "bases", "format_spec"}:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if isinstance(child, ast.AST) and not _left_alone(child):
                yield field, index, child


def _left_alone(child: ast.AST) -> bool:
    """Whether nothing changes in it: imports, docstrings, f-strings, assertions, and what only types need.

    f-strings are for people. An assertion states what holds by construction; a weaker one changes no decision.
    """
    if isinstance(child, ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Assert):
        return True
    if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
        return True  # a docstring
    if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
        return True
    if isinstance(child, ast.Assign) and any(
        isinstance(each, ast.Name) and each.id == "__slots__" for each in child.targets
    ):
        return True
    return isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id in _UNCHANGED_CALLS


# -- operators ----------------------------------------------------------------------------------------


def _text(node: ast.AST, most: int = 160) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= most else f"{text[:most]}..."


def _with(node: ast.AST, **fields: object) -> ast.AST:
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _change(old: ast.AST, new: ast.AST) -> Change:
    return f"`{_text(old)}` -> `{_text(new)}`", new


def _compare(node: ast.Compare) -> Iterator[Change]:
    for index, each in enumerate(node.ops):
        ops = [*node.ops[:index], _COMPARED[type(each)](), *node.ops[index + 1 :]]
        yield _change(node, _with(node, ops=ops))


def _boolean(node: ast.BoolOp) -> Iterator[Change]:
    yield _change(node, _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And()))


def _unary(node: ast.UnaryOp) -> Iterator[Change]:
    if isinstance(node.op, ast.Not | ast.USub):
        yield _change(node, node.operand)


def _computed(node: ast.BinOp | ast.AugAssign) -> Iterator[Change]:
    if type(node.op) in _COMPUTED:
        yield _change(node, _with(node, op=_COMPUTED[type(node.op)]()))


def _constant(node: ast.Constant) -> Iterator[Change]:
    match node.value:
        case bool():
            yield _change(node, ast.Constant(not node.value))
        case int() | float():
            yield _change(node, ast.Constant(node.value + 1))
        case str():
            yield _change(node, ast.Constant(f"XX{node.value}"))


def _condition(node: ast.If | ast.IfExp) -> Iterator[Change]:
    for value in (True, False):
        new = _with(node, test=ast.Constant(value))
        yield f"if `{_text(node.test)}` -> `{value}`", new


def _filter(node: ast.comprehension) -> Iterator[Change]:
    for index, test in enumerate(node.ifs):
        new = _with(node, ifs=[*node.ifs[:index], *node.ifs[index + 1 :]])
        yield f"for without if `{_text(test)}`", new


def _loop(node: ast.While) -> Iterator[Change]:
    if not isinstance(node.test, ast.Constant):
        yield (
            f"while `{_text(node.test)}` -> `False`",
            _with(node, test=ast.Constant(False)),
        )


def _call(node: ast.Call) -> Iterator[Change]:
    if isinstance(node.func, ast.Name) and node.func.id in _CALLED:
        yield _change(node, _with(node, func=ast.Name(_CALLED[node.func.id], ast.Load())))
    for index, each in enumerate(node.keywords):
        if each.arg is not None:
            new = _with(node, keywords=[*node.keywords[:index], *node.keywords[index + 1 :]])
            yield f"`{_text(node)}` without `{each.arg}`", new


def _statement(node: ast.Expr | ast.Raise) -> Iterator[Change]:
    yield f"without `{_text(node)}`", ast.Pass()


def _returned(node: ast.Return) -> Iterator[Change]:
    if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield _change(node, ast.Return(ast.Constant(None)))


def _assigned(node: ast.Assign | ast.AugAssign) -> Iterator[Change]:
    """A store into an attribute or an item is left out; a name would then be missing, which every test notices."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if isinstance(node, ast.AugAssign) or all(isinstance(each, ast.Attribute | ast.Subscript) for each in targets):
        yield from _statement(node)  # type: ignore[arg-type]


def _jump(node: ast.Continue | ast.Break) -> Iterator[Change]:
    yield _change(node, ast.Break() if isinstance(node, ast.Continue) else ast.Continue())


_OPERATORS: tuple[tuple[type[ast.AST] | tuple[type[ast.AST], ...], Callable[..., Iterator[Change]]], ...] = (
    (ast.Compare, _compare),
    (ast.BoolOp, _boolean),
    (ast.UnaryOp, _unary),
    ((ast.BinOp, ast.AugAssign), _computed),
    (ast.Constant, _constant),
    ((ast.If, ast.IfExp), _condition),
    (ast.comprehension, _filter),
    (ast.While, _loop),
    (ast.Call, _call),
    ((ast.Expr, ast.Raise), _statement),
    (ast.Return, _returned),
    ((ast.Assign, ast.AugAssign), _assigned),
    ((ast.Continue, ast.Break), _jump),
)
