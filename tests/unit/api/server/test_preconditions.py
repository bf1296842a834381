"""The headers by which a client says what it expects to change."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from hai_scheduler.api.server.preconditions import expectation, showing
from hai_scheduler.api.server.problems import problem_of
from hai_scheduler.service.shared.errors import Invalid, Overtaken
from hai_scheduler.service.shared.versions import ANY, Expectation

VERSION = "0123456789abcdef"


class Shown(BaseModel):
    name: str


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, ANY),
        ({"If-Match": f'"{VERSION}"'}, Expectation(version=VERSION)),
        ({"If-Match": f' W/"{VERSION}" '}, Expectation(version=VERSION)),
        ({"If-Match": VERSION}, Expectation(version=VERSION)),
        ({"If-Match": "*"}, Expectation(exists=True)),
        ({"If-None-Match": "*"}, Expectation(exists=False)),
    ],
)
def test_headers_say_what_is_expected(headers, expected) -> None:
    assert expectation(headers) == expected


@pytest.mark.parametrize(
    ("headers", "field"),
    [
        ({"If-Match": ""}, "If-Match"),
        ({"If-Match": f'"{VERSION}", "{VERSION}"'}, "If-Match"),
        ({"If-Match": VERSION.upper()}, "If-Match"),
        ({"If-None-Match": f'"{VERSION}"'}, "If-None-Match"),
        ({"If-Match": "*", "If-None-Match": "*"}, "If-None-Match"),
    ],
)
def test_a_header_that_is_not_understood_is_refused_and_not_ignored(headers, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        expectation(headers)
    assert caught.value.field == field


@pytest.mark.parametrize(("current", "shown"), [("x", {"name": "x"}), (None, None)])
async def test_the_answer_has_what_is_there_now(current, shown) -> None:
    async def change() -> None:
        raise Overtaken("The row has changed since you read it.", current)

    with pytest.raises(Overtaken) as caught:
        await showing(change(), lambda there: Shown(name=there))
    problem = problem_of(caught.value)
    assert problem is not None
    assert (problem.status, problem.code) == (409, "conflict")
    assert problem.model_dump()["current"] == shown


async def test_a_change_that_is_made_is_handed_on() -> None:
    async def change() -> int:
        return 7

    assert await showing(change(), lambda there: Shown(name=there)) == 7
