"""Advice on variables of a submission that look like keys: they are shown with the task, and secrets are not."""

from __future__ import annotations

from collections.abc import Mapping

from hai_client.masking import masked

#: Shorter values, such as numbers and words, are no keys.
_LEAST = 8


def key_warnings(env: Mapping[str, str]) -> list[str]:
    """Return one sentence on the variables that look like keys; none without such a one."""
    names = [name for name, value in env.items() if looks_like_key(name, value)]
    if not names:
        return []
    first = names[0]
    which = first if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    looks = "looks like a key, which" if len(names) == 1 else "look like keys, which"
    return [
        (
            f"env: {which} {looks} is stored and shown with the task: set it once by `hai secret set {first}`, and"
            f" submit with --secret {first}"
        )
    ]


def looks_like_key(name: str, value: str) -> bool:
    """Return whether a variable's name says that its value is a secret, or the value is of a known kind of key."""
    if len(value) < _LEAST or len(value) > 4096 or value.startswith(("/", "~")) or value.isdigit():
        return False
    said = f"{name}={value}"
    return masked(said) != said
