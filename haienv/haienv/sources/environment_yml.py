"""environment.yml of conda: packages of channels, and a part that pip installs. PyYAML comes with the extra `conda`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from haienv.shared.errors import Wrong
from haienv.shared.masking import quoted
from haienv.sources import requirements
from haienv.sources.source import Source, joined, text_of
from haienv.store.conda_spec import check_conda
from haienv.store.spec import VARIABLE

_KEYS = ("name", "channels", "dependencies", "variables", "prefix")


def read(path: Path) -> Source:
    """Read an environment.yml. Raises Wrong."""
    top = _composed(path)
    if _kind(top) != "mapping":
        raise Wrong(f"{path}, line 1: is no environment.yml: it must hold `dependencies:` with a list below")
    found: list[Source] = []
    for key, node in top.value:
        name = key.value
        if name not in _KEYS:
            raise _wrong(path, key, f"{name}: is not known; an environment.yml has {', '.join(_KEYS)}")
        if name == "channels":
            found.append(Source(channels=tuple(_text(path, one, "channels") for one in _items(path, node, name))))
        elif name == "dependencies":
            found += [_dependency(path, one) for one in _items(path, node, name)]
        elif name == "variables":
            found.append(Source(variables=dict(_variable(path, *pair) for pair in _pairs(path, node, name))))
    if not any(one.conda or one.requirements for one in found):
        raise Wrong(f"{path}: dependencies: is empty; write for example `dependencies: [python=3.11, numpy]`")
    return joined(found)


def _composed(path: Path) -> Any:
    """Return the nodes of the file, which know their lines. No object is made of them."""
    try:
        import yaml
    except ImportError:
        raise Wrong(
            f"{path}: environment.yml needs the conda part of haienv: pip install 'hai-env[build,conda]'"
        ) from None
    text = text_of(path)
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except RecursionError:
        raise Wrong(f"{path}: is no YAML: it is nested too deeply; write each item in a line of its own") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise Wrong(
            f"{path}{line}: is no YAML: {getattr(error, 'problem', None) or error}; look at the spaces at the begin of"
            " the line"
        ) from None


def _kind(node: Any) -> str:
    return "nothing" if node is None else str(node.id)


def _wrong(path: Path, node: Any, text: str) -> Wrong:
    return Wrong(f"{path}, line {node.start_mark.line + 1}: {text}")


def _items(path: Path, node: Any, name: str) -> list[Any]:
    if _kind(node) != "sequence":
        raise _wrong(path, node, f"{name}: is not a list; write each item in a line of its own, after `- `")
    return list(node.value)


def _pairs(path: Path, node: Any, name: str) -> list[Any]:
    if _kind(node) != "mapping":
        raise _wrong(path, node, f"{name}: is not a table; write for example `{name}: {{OMP_NUM_THREADS: 1}}`")
    return list(node.value)


def _text(path: Path, node: Any, name: str) -> str:
    if _kind(node) != "scalar" or not node.value:
        raise _wrong(path, node, f"{name}: this item is not a text; write for example `- numpy=2.1`")
    return str(node.value).strip()


def _variable(path: Path, key: Any, node: Any) -> tuple[str, str]:
    name, value = key.value, _text(path, node, "variables")
    if not VARIABLE.fullmatch(str(name)):
        raise _wrong(path, key, f"variables: {name!r} is not the name of a variable; use letters, digits and '_'")
    return str(name), value


def _dependency(path: Path, node: Any) -> Source:
    if _kind(node) == "mapping":
        if not node.value:
            raise _wrong(path, node, "dependencies: an empty table stands here; take it away")
        [key, *more] = [pair[0] for pair in node.value]
        if key.value != "pip" or more:
            raise _wrong(path, node, f"dependencies: {key.value!r} is not known; only `pip:` has a list of its own")
        return joined(_pip(path, one) for one in _items(path, node.value[0][1], "pip"))
    text = _text(path, node, "dependencies")
    try:
        text = check_conda(text)
        _check_rattler(text)
    except Wrong as error:
        raise _wrong(path, node, str(error)) from None
    return Source(conda=(text,))


def _check_rattler(text: str) -> None:
    """Raise Wrong for a match specification that what solves cannot read, now that the line is known."""
    try:
        from rattler import MatchSpec
    except ImportError:
        # A build says so.
        return
    try:
        MatchSpec(text, strict=False)
    except Exception as error:  # noqa: BLE001  rattler's errors have no common class
        raise Wrong(
            f"conda: {quoted(text)} cannot be read: {str(error).rstrip('.')}; write for example numpy=2.1,"
            " numpy=2.1=py311h_0 or numpy[version='>=2', build='py311*']"
        ) from None


def _pip(path: Path, node: Any) -> Source:
    try:
        return requirements.read_line(_text(path, node, "pip"), path)
    except Wrong as error:
        raise error if requirements.names_a_line(error) else _wrong(path, node, str(error)) from None
