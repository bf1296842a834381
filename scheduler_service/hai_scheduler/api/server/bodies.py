"""Reads bodies and query parameters into models, strictly: no value is guessed and no field is ignored."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hai_scheduler.api.server.problems import Refused
from hai_scheduler.api.server.route import RawBytes, YamlText
from hai_scheduler.api.wire.base import Input
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
