"""Completes names from the platform, for completion scripts. It is quick, and never prints an error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hai_client import settings
from hai_client.api import Client
from hai_client.cli.shared.context import Context
from hai_client.errors import HaiError
from hai_client.http import Transport
from hai_client.wire.storage import Environment

_TIMEOUT_S = 1.5


def complete(words: Sequence[str], ctx: Context) -> int:
    """Write the names of a kind, one a line: tasks, nodes or environments."""
    try:
        found = settings.load(url=ctx.url)
        if found.token is None:
            return 0
        client = Client(transport=Transport(found.api_url, found.token, timeout_s=_TIMEOUT_S, delays_s=()))
        for word in dict.fromkeys(_words(client, words[0] if words else "")):
            ctx.out.line(word)
    except HaiError:
        # Print no error: a user who presses Tab wants completions or nothing.
        return 0
    return 0


def _words(client: Client, kind: str) -> Iterable[str]:
    if kind == "tasks":
        return [task.name for task in client.tasks(limit=100)]
    if kind == "nodes":
        return [node.name for node in client.nodes()]
    if kind == "environments":
        return _environments(client.environments())
    return []


def _environments(found: Sequence[Environment]) -> Iterable[str]:
    """Yield images by their names, and environments in full; the caller's own, which are listed first, also bare."""
    images = {one.name for one in found if one.haienv is None}
    for one in found:
        if one.haienv is None:
            yield one.name
            continue
        level, _, owner = one.haienv.owner.partition("/")
        bare = one.name.rpartition("/")[2]
        if level == "users" and one.haienv.may_build and owner and bare not in images:
            yield bare
        yield one.name
