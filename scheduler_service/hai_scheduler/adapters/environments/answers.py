"""Reads the answers of look-ups. They come from processes of users' accounts, so each type in them is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, NoReturn

from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.workspace.abi import Needs
from hai_scheduler.ports.haienvs import HaienvDetail, HaienvFault, HaienvList, ListedHaienv

_TEXTS: Final = ("name", "digest", "python", "built_by", "built_at", "trouble")
_TEXTS_OR_NONE: Final = ("cuda", "extends")
_NUMBERS_OR_NONE: Final = ("generation", "files", "size")
_FLAGS: Final = ("kernel", "draft")


def pin_of(answer: Mapping[str, Any]) -> Pin:
    """Return the pin of an answer. Raises HaienvFault."""
    texts = ("name", "digest", "interpreter", "python", "flavour")
    if not all(isinstance(answer.get(name), str) for name in texts) or type(answer.get("generation")) is not int:
        _wrong()
    values = {name: answer[name] for name in texts}
    return Pin(**values, generation=answer["generation"], variables=_texts_of(answer.get("variables")))


def needs_of(answer: Mapping[str, Any]) -> Needs:
    """Return what a generation needs of a machine, by an answer. Raises HaienvFault."""
    found = answer.get("needs")
    names = Needs.__dataclass_fields__
    if not isinstance(found, dict) or not all(isinstance(found.get(name), str) for name in names):
        _wrong()
    return Needs(**{name: found[name] for name in names})


def list_of(answer: Mapping[str, Any]) -> HaienvList:
    """Return the list of an answer. Raises HaienvFault."""
    items = answer.get("items")
    if not isinstance(items, list) or not isinstance(answer.get("cut"), bool):
        _wrong()
    return HaienvList(items=tuple(_entry_of(one) for one in items), cut=answer["cut"])


def detail_of(answer: Mapping[str, Any]) -> HaienvDetail:
    """Return the environment of an answer. Raises HaienvFault."""
    number, prefix = answer.get("generation"), answer.get("prefix")
    if type(number) is not int or not isinstance(prefix, str):
        _wrong()
    packages = _texts_of(answer.get("packages"))
    return HaienvDetail(found=_entry_of(answer.get("found")), generation=number, packages=packages, prefix=prefix)


def _entry_of(given: Any) -> ListedHaienv:
    if not isinstance(given, dict) or set(given) != {field.name for field in fields(ListedHaienv)}:
        _wrong()
    numbers = given["generations"]
    good = (
        all(isinstance(given[name], str) for name in _TEXTS)
        and all(given[name] is None or isinstance(given[name], str) for name in _TEXTS_OR_NONE)
        and all(given[name] is None or type(given[name]) is int for name in _NUMBERS_OR_NONE)
        and all(isinstance(given[name], bool) for name in _FLAGS)
        and isinstance(numbers, list)
        and all(type(one) is int for one in numbers)
    )
    if not good:
        _wrong()
    return ListedHaienv(**{**given, "generations": tuple(numbers)})


def _texts_of(given: Any) -> dict[str, str]:
    if not isinstance(given, dict) or not all(isinstance(one, str) for one in given.values()):
        _wrong()
    return given


def _wrong() -> NoReturn:
    raise HaienvFault("environment: the look-up gave a wrong answer; try again")
