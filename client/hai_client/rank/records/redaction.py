"""Takes the secrets of a rank out of what leaves it: `[secret NAME]` stands in their place.

Each line of a secret is looked for, as it is and as it is often written: in base64 (alone, or behind one or two other
bytes), as part of an address, and within a text of JSON. Lines with fewer than `LEAST_REDACTED` bytes are left: they
would be found in words. So are those behind the first `MOST_LINES` of a secret: each costs time in every output.
"""

from __future__ import annotations

import re

from hai_client.constants import LEAST_REDACTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


#: The lines of one secret that are looked for.
MOST_LINES = 200


class Redactor:
    """Redacts a stream that comes in pieces.

    The end of a piece that may be the beginning of a secret is held back until the next piece, and nothing else is. It
    is never a whole line.

    Args:
        values: The secrets, by name.
    """

    def __init__(self, values: Mapping[str, bytes]) -> None:
        names: dict[bytes, str] = {}
        for name, value in values.items():
            for form in forms_of(value):
                names.setdefault(form, name)
        #: The longest first: of two that begin at the same place the longer one is taken.
        self._forms = sorted(names, key=len, reverse=True)
        self._names = names
        #: Beginnings of all forms: data in which none is found, and which ends in no part of one, passes as it is.
        self._heads = sorted({form[:LEAST_REDACTED] for form in self._forms})
        found = b"|".join(map(re.escape, self._forms))
        #: Looks at each place, so that secrets which overlap are all found.
        self._any = re.compile(b"(?=(" + found + b"))") if self._forms else None
        begin = b"|".join(map(re.escape, self._heads))
        self._begin = re.compile(b"(?=" + begin + b")") if self._heads else None
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        """Return what can be shown of the next piece, with what was held back before."""
        data = self._rest + data
        held = self._held(data)
        shown, begin, end = [], 0, len(data) - held
        for start, stop, name in self._found(data):
            if start >= end and held:
                break
            shown += [data[begin:start], b"[secret ", name.encode(), b"]"]
            begin = stop
        # A secret may reach into what would be held back.
        end = max(begin, end)
        shown.append(data[begin:end])
        self._rest = data[end:]
        return b"".join(shown)

    def finish(self) -> bytes:
        """Return what can be shown of what was held back: no more comes."""
        rest, self._rest = self._rest, b""
        return self._whole(rest)

    def text(self, text: str) -> str:
        """Return a whole text redacted."""
        return self._whole(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def _whole(self, data: bytes) -> bytes:
        shown, begin = [], 0
        for start, stop, name in self._found(data):
            shown += [data[begin:start], b"[secret ", name.encode(), b"]"]
            begin = stop
        return b"".join([*shown, data[begin:]])

    def _found(self, data: bytes) -> Iterator[tuple[int, int, str]]:
        """Yield where secrets are and whose; those that overlap or touch are one."""
        if self._any is None or not any(head in data for head in self._heads):
            return
        begin, end, name = -1, -1, ""
        for match in self._any.finditer(data):
            form = match.group(1)
            if begin >= 0 and match.start() <= end:
                end = max(end, match.start() + len(form))
                continue
            if begin >= 0:
                yield begin, end, name
            begin, end, name = match.start(), match.start() + len(form), self._names[form]
        if begin >= 0:
            yield begin, end, name

    def _held(self, data: bytes) -> int:
        """Return how many bytes at the end of the data may be the beginning of a secret."""
        if self._begin is None:
            return 0
        longest = min(len(self._forms[0]) - 1, len(data))
        window = data[len(data) - longest :]
        if any(head in window for head in self._heads):
            for match in self._begin.finditer(window):
                rest = window[match.start() :]
                if any(len(form) > len(rest) and form.startswith(rest) for form in self._forms):
                    return len(rest)
        for length in range(min(LEAST_REDACTED - 1, len(data)), 0, -1):
            if any(head.startswith(data[-length:]) for head in self._heads):
                return length
        return 0


def forms_of(value: bytes) -> set[bytes]:
    """Return the forms in which a secret is looked for."""
    lines = [line for line in map(bytes.strip, value.splitlines()) if len(line) >= LEAST_REDACTED]
    found = set(lines[:MOST_LINES])
    for line in lines[:MOST_LINES]:
        found.update(_other_forms(line))
    return found


def _other_forms(line: bytes) -> Iterator[bytes]:
    import json
    from base64 import b64encode, urlsafe_b64encode
    from urllib.parse import quote_from_bytes

    for encode in (b64encode, urlsafe_b64encode):
        for before in range(3):
            # The characters at both ends also depend on what stands beside the secret.
            begin = -(-before * 8 // 6)
            end = (before + len(line)) * 8 // 6
            yield encode(b"\0" * before + line)[begin:end]
    yield quote_from_bytes(line, safe="").encode()
    yield quote_from_bytes(line, safe="").replace("%20", "+").encode()
    yield json.dumps(line.decode("utf-8", "replace"))[1:-1].encode()
