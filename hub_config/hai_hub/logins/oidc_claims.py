"""Find a user's groups among the claims of a provider of OpenID Connect, and say why there are none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def found_at(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim by its name, or by names with dots between the levels of tables; None: it is not there."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for step in name.split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def without(claims: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the claims without one, and without the whole table that it lies in."""
    root = name if name in claims else name.partition(".")[0]
    return {key: value for key, value in claims.items() if key != root}


def groups_at(claims: Mapping[str, Any], name: str, issuer: str) -> tuple[list[str], str]:
    """Return the groups that a claim names, and why there are none; empty: it may well be so.

    Args:
        claims: All claims of a user.
        name: The claim with groups.
        issuer: Address of the issuer, for the sentence.
    """
    told = found_at(claims, name)
    if isinstance(told, str):
        return [told], ""
    if isinstance(told, list):
        return [each for each in told if isinstance(each, str)], ""
    if told is not None:
        return [], f"{name} is {type(told).__name__} at the provider, and no list of names"
    if name in (claims.get("_claim_names") or {}):
        return [], "the user is in more groups than Entra sends: let it send those assigned to the application alone"
    return [], f"{issuer} says no {name} (it says {names_in(claims)}): add it there"


def names_in(claims: Mapping[str, Any]) -> str:
    """Return the names of the claims, for a sentence; their values are nobody's business."""
    return ", ".join(sorted(name for name in claims if not name.startswith("hai_")))[:300]
