"""Server-sent events: reads a stream, and reads on where a broken connection ended."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

from hai_client.backports import dataclass, without_prefix
from hai_client.errors import HaiError, Unavailable, kind_of

#: Waits between tries to read on; the last one is repeated.
DELAYS_S = (0.2, 0.5, 1.0, 2.0, 5.0)
#: The platform may ask for a longer wait, but not for more than this.
LONGEST_WAIT_S = 10.0
#: How long the platform may be away before following it ends with an error.
PATIENCE_S = 600.0
#: The same while it was never reached: as long as for a single call, because the address may be mistyped.
FIRST_PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Message:
    """One event of a stream."""

    event: str
    data: str
    id: str | None  #: Where reading on would begin: the id of this message or the latest before it.


def messages(lines: Iterable[bytes]) -> Iterator[Message]:
    """Parse a stream, and yield its messages but one that is cut off: that one comes again after reading on."""
    event = ""
    data: list[str] = []
    last_id: str | None = None
    for raw in lines:
        if not raw.endswith(b"\n"):
            return
        line = raw.rstrip(b"\r\n").decode("utf-8", "replace")
        if not line:
            if data:
                yield Message(event or "message", "\n".join(data), last_id)
            event, data = "", []
            continue
        name, _, value = line.partition(":")
        value = without_prefix(value, " ")
        if name == "event":
            event = value
        elif name == "data":
            data.append(value)
        elif name == "id" and "\0" not in value:
            last_id = value


def follow(
    connect: Callable[[str | None], http.client.HTTPResponse],
    *,
    last_id: str | None = None,
    patience_s: float = PATIENCE_S,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    lost: Callable[[Unavailable], None] | None = None,
) -> Iterator[Message]:
    """Read a stream to its `end`, over as many connections as it takes.

    Args:
        connect: Opens the stream after the message with the given id.
        last_id: Where to begin; None is where the service begins.
        patience_s: How long the platform may be away.
        sleep: Waits.
        clock: Seconds that only grow.
        lost: Called with the error of each failed try to read on.

    Yields:
        Each message once, in order; `end` is not handed out, nor is `problem`: the service sends it when it cannot
        go on, because its database is away for example.

    Raises:
        Unavailable: The platform was away for longer than `patience_s`.
        HaiError: The platform refuses.
    """
    tries, since, patience = 0, clock(), min(patience_s, FIRST_PATIENCE_S)
    while True:
        problem: Unavailable | None = None
        try:
            with closing(connect(last_id)) as response:
                since, patience = clock(), patience_s
                for message in messages(response):
                    if message.event == "problem":
                        raise trouble(message.data)
                    last_id, tries, since = message.id or last_id, 0, clock()
                    if message.event == "end":
                        return
                    yield message
        except Unavailable as error:
            problem = error
        except (OSError, http.client.HTTPException) as error:
            problem = Unavailable(f"the connection was lost: {error}")
        if problem is not None and clock() - since > patience:
            raise problem
        # A stream that merely ended, having brought something, is read on at once.
        if tries or problem is not None:
            if lost is not None:
                lost(problem or Unavailable("the stream ended early"))
            asked = problem.retry_after_s if problem is not None else None
            sleep(max(DELAYS_S[min(tries, len(DELAYS_S) - 1)], min(asked or 0.0, LONGEST_WAIT_S)))
        tries += 1


def trouble(data: str) -> HaiError:
    """The error for a stream that its service has broken off: a fault on that side is one to read on after."""
    try:
        found = json.loads(data)
        status, code, detail = int(found["status"]), str(found.get("code", "")), str(found.get("detail", ""))
    except (ValueError, TypeError, KeyError, AttributeError):
        return Unavailable("the service broke the stream off without a word why")
    kind = Unavailable if status >= 500 else kind_of(status, code)
    return kind(detail or f"the service broke the stream off with status {status}", code=code or None, status=status)
