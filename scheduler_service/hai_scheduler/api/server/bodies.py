"""Bodies, which are kept in part while they arrive, and query parameters: both are read into models, strictly."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tornado.httputil import HTTPHeaders

from hai_scheduler.api.server.problems import Refused
from hai_scheduler.api.server.route import RawBytes, Route, YamlText
from hai_scheduler.api.wire.base import Input
from hai_scheduler.api.wire.params import Nothing
from hai_scheduler.api.wire.values import adapter_of
from hai_scheduler.service.shared.errors import Invalid

_JSON: Final = re.compile(r"application/(?:[\w.+-]+\+)?json")
_BYTES: Final = "application/octet-stream"
_YAML: Final = re.compile(r"(?:application|text)/(?:x-)?yaml")
#: Parameters that JupyterHub uses itself (XSRF proof, token); they are not parameters of the interface.
_HUBS: Final = frozenset({"_xsrf", "token"})


def read_body(model: type, body: bytes, content_type: str | None, *, optional: bool) -> Any:
    """Return the body as its type; None if it is optional and empty. Raises Refused, Invalid and ValidationError."""
    if not body and optional:
        return None
    kind, charset = _kind(content_type)
    if issubclass(model, RawBytes):
        if kind != _BYTES:
            raise Refused("unsupported_media_type", f"The body is {kind}: send bytes as {_BYTES}.")
        return model(body)
    if charset not in ("utf-8", "utf8", "us-ascii"):
        raise Refused("unsupported_media_type", f"The body is in {charset}: send UTF-8.")
    if issubclass(model, YamlText):
        if not _YAML.fullmatch(kind):
            raise Refused("unsupported_media_type", f"The body is {kind}: send YAML as application/yaml.")
        return model(_decode(body))
    if not _JSON.fullmatch(kind):
        raise Refused("unsupported_media_type", f"The body is {kind}: send JSON as application/json.")
    if not body:
        raise Invalid("", None, "there is no body: send a JSON object")
    return adapter_of(model).validate_json(_decode(body), strict=True)


def read_query(model: type[Input], given: Mapping[str, Sequence[bytes]]) -> Input:
    """Return the query parameters as their model. Raises Invalid and pydantic's ValidationError."""
    values: dict[str, str] = {}
    for name, raw in given.items():
        if name in _HUBS and name not in model.model_fields:
            continue
        if len(raw) > 1:
            raise Invalid(name, None, "is given more than once: give it once")
        try:
            values[name] = raw[0].decode()
        except UnicodeDecodeError:
            raise Invalid(name, None, "is not UTF-8") from None
    return model.model_validate(values)


def _kind(content_type: str | None) -> tuple[str, str]:
    """Return media type and character set, in lower case."""
    if not content_type:
        return "of no stated type", "utf-8"
    kind, *parameters = (part.strip().lower() for part in content_type.split(";"))
    charset = next((p.partition("=")[2].strip('"') for p in parameters if p.startswith("charset=")), "utf-8")
    return kind[:100], charset[:40]


def _decode(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise Invalid("", None, f"the body is not UTF-8: byte {error.start + 1} does not fit") from None


#: The largest body that is read, in bytes.
MAX_BODY: Final = 1024 * 1024
#: The largest body, in bytes, that is read and thrown away before the refusal is sent; a longer one is cut off.
MAX_DRAINED: Final = 256 * 1024 * 1024


class ArrivingBody:
    """A body of which at most MAX_BODY bytes are kept, and nothing once the request is refused.

    Args:
        headers: The headers of the request.
    """

    def __init__(self, headers: HTTPHeaders) -> None:
        self._headers = headers
        self._most = MAX_BODY
        self._kept = bytearray()
        self._arrived = 0

    @property
    def length(self) -> int:
        """The length that the client has announced, in bytes; 0 if it has announced none."""
        length = self._headers.get("Content-Length", "0")
        return int(length) if length.isdigit() else 0

    @property
    def unannounced(self) -> int:
        """How much more has arrived than was announced, in bytes: a body without a Content-Length is all that."""
        return max(0, self._arrived - self.length)

    @property
    def is_endless(self) -> bool:
        """Whether so much has arrived that the connection is closed instead of throwing away more."""
        return self._arrived > MAX_DRAINED

    def check_length(self, most: int | None = None) -> None:
        """Check the length that the client has announced. Raises Refused (413).

        Args:
            most: The most bytes that the route takes; None: MAX_BODY.
        """
        self._most = MAX_BODY if most is None else most
        length = self._headers.get("Content-Length", "0")
        if not length.isdigit() or int(length) > self._most:
            raise _too_large(self._most)

    def count(self, chunk: bytes) -> None:
        """Count a piece that is kept nowhere. Raises Refused (413) for a piece that is one too many."""
        self._arrived += len(chunk)
        if self._arrived > self._most:
            raise _too_large(self._most)

    def is_worth_waiting(self) -> bool:
        """Return whether to wait for a body that is refused: it is short enough, and the client sends it unasked."""
        if self._headers.get("Expect", "").lower() == "100-continue":
            return False
        length = self._headers.get("Content-Length", "0")
        return length.isdigit() and int(length) <= MAX_DRAINED

    def take(self, chunk: bytes, *, keep: bool) -> None:
        """Take a piece of the body, and keep it if asked to. Raises Refused (413) for a piece that is one too many."""
        self._arrived += len(chunk)
        if not keep:
            return
        if self._arrived > self._most:
            self._kept.clear()
            raise _too_large(self._most)
        self._kept += chunk

    def read(self, route: Route) -> object:
        """Return the body as the route's model, and keep nothing of it. Raises Refused, Invalid and ValidationError."""
        body = bytes(self._kept)
        self._kept.clear()
        if route.body is not None:
            return read_body(route.body, body, self._headers.get("Content-Type"), optional=route.body_optional)
        if not _says_nothing(body):
            raise Refused("invalid", "This takes no body: leave it out.")
        return Nothing()


def _says_nothing(body: bytes) -> bool:
    """Return whether a body is empty, or an empty object. It may be a megabyte of spaces: each is looked at once."""
    text = body.strip()
    return not text or (text[:1] == b"{" and text[-1:] == b"}" and len(text) > 1 and not text[1:-1].strip())


def _too_large(most: int) -> Refused:
    size = f"{most // 2**20} MiB" if most >= 2**20 else f"{most // 2**10} KiB"
    return Refused("too_large", f"The body is larger than {size}, which is the most.")
