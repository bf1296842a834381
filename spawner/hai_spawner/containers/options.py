"""Check the options of a start, in the same way for the REST interface and for the page."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from hai_spawner.containers.menu import Refusal, Why

#: Longest value of an option, in characters.
_LONGEST: Final = 200


def checked_options(given: object, keys: Collection[str]) -> dict[str, str]:
    """Return the options, each a text; options that are null or empty are left out.

    Args:
        given: `user_options` of a request, which may be any JSON.
        keys: Names of the options that exist.

    Raises:
        Refusal: The options are not a table, or have an unknown name, or a value that is not a text.
    """
    known = ", ".join(sorted(keys))
    if not isinstance(given, Mapping):
        raise Refusal(Why.OPTIONS, f"user_options is a {_kind(given)}: send a table with {known}.")
    for key in given:
        if key not in keys:
            raise Refusal(Why.OPTIONS, f"user_options has {_shown(key)}: there is no such option; use {known}.")
    for key, value in given.items():
        if value is not None and not (isinstance(value, str) and len(value) <= _LONGEST and value.isprintable()):
            raise Refusal(
                Why.OPTIONS, f"{key} is {_shown(value)}: send a text of at most {_LONGEST} printable characters."
            )
    return {key: value for key, value in given.items() if value}


def form_options(form: Mapping[str, Sequence[Any]], keys: Collection[str]) -> dict[str, Any]:
    """Return the options of a form or a query in the form of the REST interface.

    Raises:
        Refusal: An option is given more than once.
    """
    # JupyterHub's own token against forged requests (XSRF) is no option.
    given = {key: values for key, values in form.items() if key != "_xsrf"}
    for key, values in given.items():
        if key in keys and len(values) > 1:
            raise Refusal(Why.OPTIONS, f"{key} is given {len(values)} times: give it once.")
    return {key: values[0] if len(values) == 1 else list(values) for key, values in given.items()}


def _kind(value: object) -> str:
    return {list: "list", str: "text", int: "number", float: "number", bool: "truth value"}.get(type(value), "nothing")


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 80 else text[:80] + "..."
