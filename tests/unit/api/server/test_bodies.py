"""Bodies and query parameters: which kinds are taken, and in which words the others are refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from hai_scheduler.api.server.bodies import read_body, read_query
from hai_scheduler.api.server.problems import Refused
from hai_scheduler.api.server.route import RawBytes, YamlText
from hai_scheduler.api.wire.base import Input
from hai_scheduler.service.shared.errors import Invalid


class Thing(Input):
    """A body with a number."""

    count: int


class Asked(Input):
    """Query parameters."""

    limit: int = 5
    name: str | None = None


def read(model: Any, body: bytes, kind: str | None, *, optional: bool = False) -> Any:
    return read_body(model, body, kind, optional=optional)


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "Application/JSON; charset=UTF-8",
        'application/json; charset="utf-8"',
        "application/merge-patch+json",
        "application/json;charset=us-ascii",
    ],
)
def test_json_is_read_strictly(kind: str) -> None:
    assert read(Thing, b'{"count": 3}', kind).count == 3
    for wrong in (b'{"count": "3"}', b'{"count": 3, "color": 1}', b"[]", b"{", b"{}"):
        with pytest.raises(ValidationError):
            read(Thing, wrong, kind)


@pytest.mark.parametrize(
    ("model", "kind", "said"),
    [
        (Thing, "text/plain", "The body is text/plain: send JSON as application/json."),
        (Thing, None, "The body is of no stated type: send JSON"),
        (Thing, "application/jsonp", "application/jsonp: send JSON"),
        (Thing, "application/json; charset=latin-1", "The body is in latin-1: send UTF-8."),
        (YamlText, "application/json", "send YAML as application/yaml"),
        (RawBytes, "text/plain", "send bytes as application/octet-stream"),
        (Thing, "x" * 500, "The body is " + "x" * 100 + ":"),
    ],
)
def test_another_kind_is_refused_with_the_right_one(model: Any, kind: str | None, said: str) -> None:
    with pytest.raises(Refused) as refused:
        read(model, b"{}", kind)
    assert refused.value.code == "unsupported_media_type"
    assert said in refused.value.detail


@pytest.mark.parametrize("kind", ["application/yaml", "text/x-yaml; charset=utf-8", "application/x-yaml", "TEXT/YAML"])
def test_yaml_is_handed_on_as_text(kind: str) -> None:
    assert str(read(YamlText, "name: ä".encode(), kind)) == "name: ä"


def test_bytes_are_handed_on_as_they_are() -> None:
    assert bytes(read(RawBytes, b"\xff\x00", "application/octet-stream")) == b"\xff\x00"


def test_only_an_optional_body_may_be_missing() -> None:
    assert read(Thing, b"", None, optional=True) is None
    assert read(Thing, b'{"count": 1}', "application/json", optional=True).count == 1
    with pytest.raises(Invalid, match="there is no body: send a JSON object"):
        read(Thing, b"", "application/json")


@pytest.mark.parametrize("model", [Thing, YamlText])
def test_bytes_that_are_no_text_are_pointed_at(model: Any) -> None:
    kind = "application/json" if model is Thing else "application/yaml"
    with pytest.raises(Invalid, match="byte 4 does not fit"):
        read(model, b"abc\xff", kind)


@pytest.mark.parametrize(
    ("given", "limit", "name"),
    [
        ({}, 5, None),
        ({"limit": [b"7"]}, 7, None),
        ({"name": ["ä".encode()], "_xsrf": [b"x", b"y"], "token": [b"secret"]}, 5, "ä"),
    ],
)
def test_parameters_are_read_and_those_of_the_hub_passed_over(
    given: dict[str, list[bytes]], limit: int, name: str | None
) -> None:
    found = read_query(Asked, given)
    assert found == Asked(limit=limit, name=name)


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"limit": [b"1", b"2"]}, Invalid, "more than once: give it once"),
        ({"name": [b"\xff"]}, Invalid, "is not UTF-8"),
        ({"limit": [b"many"]}, ValidationError, "limit"),
        ({"color": [b"red"]}, ValidationError, "color"),
    ],
)
def test_a_parameter_is_given_once_and_is_known(
    given: dict[str, list[bytes]], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        read_query(Asked, given)
