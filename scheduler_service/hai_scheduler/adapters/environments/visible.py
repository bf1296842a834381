"""The folders of environments that the containers of a user see, where each container is shown its own ones alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from hai_scheduler.adapters.environments import listing
from haienv.shared.errors import HaienvError
from haienv.store import names, site
from haienv.store.names import BASE, GROUPS, USERS, Owner

#: The most environments of others that a container is shown: each is a mount.
MOST_OF_OTHERS: Final = 100
#: The references to environments, which `haienv remove` and `haienv gc` must see.
REFERENCES: Final = "references"


def of_user(root: str, user: str, groups: Collection[str], more: Collection[str] = ()) -> tuple[str, ...]:
    """Return what a container of a user is to see, relative to the root, of what is there; none is in another one.

    Args:
        root: The folder of all environments.
        user: The user.
        groups: The user's groups.
        more: Further environments by their full names, which the user may use. The Pythons that uv has fetched for
            their owner, to which their links lead, are seen too.
    """
    owners = [Owner(BASE), *(Owner(GROUPS, one) for one in sorted(groups)), Owner(USERS, user)]
    found = [site.FILE, *(str(owner) for owner in owners if owner.level == BASE or names.NAME.fullmatch(owner.name))]
    for text in more:
        found += _of_other(text)
    return tuple(one for one in _outermost(found) if _there(root, one))


def shared_with(root: str, user: str, groups: Collection[str]) -> list[str]:
    """Return the full names of the environments of others that a user may use, at most `MOST_OF_OTHERS`."""
    found = listing.listed(root, user, groups, shared_alone=True).items
    mine = f"{USERS}/{user}/"
    others = [one.name for one in found if one.name.startswith(f"{USERS}/") and not one.name.startswith(mine)]
    return others[:MOST_OF_OTHERS]


def _of_other(text: str) -> list[str]:
    try:
        reference = names.parse(text)
    except HaienvError:
        return []
    owner = reference.owner
    return [] if owner is None else [f"{owner}/{reference.name}", f"{owner}/{site.PYTHONS}"]


def _outermost(folders: Collection[str]) -> Iterator[str]:
    for one in sorted(set(folders)):
        if not any(one.startswith(f"{other}/") for other in folders):
            yield one


def _there(root: str, folder: str) -> bool:
    """Return whether it is there and can be looked at, by no link: the cluster would follow one on the node."""
    place = Path(root) / folder
    try:
        return place.resolve(strict=True) == Path(root).resolve() / folder
    except OSError:
        return False
