"""What the browser may ask `haienv` to do: checked, as a list of arguments. No shell reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hai_lab.problem import Problem, invalid

#: The full name of an environment. haienv checks it again, and more closely.
_PART: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}"
FULL_NAME: Final = re.compile(rf"(base|groups/{_PART}|users/{_PART})/{_PART}")
_GENERATION: Final = r"@[1-9][0-9]{0,8}"
_REFERENCE: Final = re.compile(rf"{FULL_NAME.pattern}({_GENERATION})?")
_PLAIN: Final = re.compile(_PART)
_PYTHON: Final = re.compile(r"[0-9]{1,2}(\.[0-9]{1,3}){0,2}")
#: Requirements of one request, and characters of one.
MOST_REQUIREMENTS: Final = 500
LONGEST_REQUIREMENT: Final = 1000


@dataclass(frozen=True)
class EnvironmentAction:
    """A command that changes an environment."""

    verb: str  #: The verb of haienv.
    environment: str  #: The full name of the environment.
    arguments: tuple[str, ...]  #: The arguments of haienv, with the verb.


def action_of(body: object) -> EnvironmentAction:
    """Return the action that a request asks for.

    Args:
        body: The parsed body: `verb`, `name`, and what the verb takes.

    Raises:
        Problem: A field is missing, unknown or wrong.
    """
    if not isinstance(body, dict):
        raise invalid("The body is no JSON object; send verb and name.")
    verb = body.get("verb")
    known = _VERBS.get(verb) if isinstance(verb, str) else None
    if known is None:
        raise _wrong("verb", verb, f"use one of {', '.join(_VERBS)}")
    fields, arguments = known
    if unknown := sorted(set(body) - {"verb", "name", *fields}):
        raise _wrong(unknown[0], body[unknown[0]], f"{verb} takes name and {', '.join(fields) or 'nothing else'}")
    name = full_name(body.get("name"))
    return EnvironmentAction(str(verb), name, (str(verb), *arguments(name, body)))


def full_name(value: object) -> str:
    """Return the full name of an environment. Raises Problem."""
    if not isinstance(value, str) or not FULL_NAME.fullmatch(value):
        raise _wrong("name", value, "write base/NAME, groups/GROUP/NAME or users/USER/NAME")
    return value


def reference(field: str, value: object) -> str:
    """Return the full name of an environment, with or without a generation. Raises Problem."""
    if not isinstance(value, str) or not _REFERENCE.fullmatch(value):
        raise _wrong(field, value, "write for example users/ann/vision@3")
    return value


def _create(name: str, body: Mapping[str, Any]) -> list[str]:
    words = [name]
    if extend := body.get("extend"):
        words.append(f"--extend={reference('extend', extend)}")
    if python := body.get("python"):
        if not isinstance(python, str) or not _PYTHON.fullmatch(python):
            raise _wrong("python", python, "give a version such as 3.11")
        words.append(f"--python={python}")
    if "kernel" in body and not isinstance(body["kernel"], bool):
        raise _wrong("kernel", body["kernel"], "give true or false")
    if body.get("kernel") is False:
        words.append("--no-kernel")
    return [*words, *_requirements(body, "requirements")]


def _install(name: str, body: Mapping[str, Any]) -> list[str]:
    return [name, *_some(body, "requirements")]


def _uninstall(name: str, body: Mapping[str, Any]) -> list[str]:
    return [name, *_some(body, "packages")]


def _rollback(name: str, body: Mapping[str, Any]) -> list[str]:
    generation = body.get("generation")
    if generation is None:
        return [name]
    if not isinstance(generation, int) or isinstance(generation, bool) or not 1 <= generation < 10**9:
        raise _wrong("generation", generation, "give a number from 1, or leave it out for the one before")
    return [f"{name}@{generation}"]


def _share(name: str, body: Mapping[str, Any]) -> list[str]:
    who = [key for key in ("group", "user", "all") if body.get(key)]
    if len(who) != 1:
        raise invalid("group, user, all: give one of them, with whom the environment is shared.")
    value = body[who[0]]
    if who == ["all"]:
        if value is not True:
            raise _wrong("all", value, "give true")
        return [name, "--all"]
    if not isinstance(value, str) or not _PLAIN.fullmatch(value):
        raise _wrong(who[0], value, "give the name of a group or a user")
    return [name, f"--{who[0]}={value}"]


def _remove(name: str, body: Mapping[str, Any]) -> list[str]:
    given = body.get("with_draft", False)
    if not isinstance(given, bool):
        raise _wrong("with_draft", given, "give true, to remove the changes in its draft too, or false")
    return [name, "--with-draft"] if given else [name]


_VERBS: Final[Mapping[str, tuple[tuple[str, ...], Callable[[str, Mapping[str, Any]], list[str]]]]] = {
    "create": (("extend", "python", "kernel", "requirements"), _create),
    "install": (("requirements",), _install),
    "uninstall": (("packages",), _uninstall),
    "rollback": (("generation",), _rollback),
    "share": (("group", "user", "all"), _share),
    "unshare": (("group", "user", "all"), _share),
    "remove": (("with_draft",), _remove),
}


def _some(body: Mapping[str, Any], field: str) -> list[str]:
    found = _requirements(body, field)
    if not found:
        raise invalid(f"{field}: none is given; write for example timm==1.0.20.")
    return found


def _requirements(body: Mapping[str, Any], field: str) -> list[str]:
    given = body.get(field, [])
    if not isinstance(given, list) or len(given) > MOST_REQUIREMENTS:
        raise invalid(f"{field}: give a list of at most {MOST_REQUIREMENTS}.")
    for one in given:
        # One that begins with a dash would be read as an option.
        if not isinstance(one, str) or not one.strip() or one.lstrip().startswith("-") or not one.isprintable():
            raise _wrong(field, one, "write for example timm==1.0.20; options belong into a requirements file")
        if len(one) > LONGEST_REQUIREMENT:
            raise _wrong(field, one, f"at most {LONGEST_REQUIREMENT} characters")
    return [one.strip() for one in given]


def _wrong(field: str, value: object, remedy: str) -> Problem:
    return invalid(f"{field} is {repr(value)[:80]}: {remedy}.")
