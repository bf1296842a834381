"""`hai version`: what speaks to what, and whether something must be done."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pytest

from hai_client.version import __version__

Hai = Callable[..., Any]


@pytest.fixture(autouse=True)
def of_this_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hai_client.cli.platform.version.__version__", "0.1.0")


def part(name: str, version: str | None, count: int = 1) -> dict[str, Any]:
    return {"part": name, "version": version, "count": count}


def test_the_version_is_that_of_the_wheel() -> None:
    assert __version__ == version("hai-client")


@pytest.mark.parametrize("words", [["version"], ["--version"]])
def test_it_is_one_line_and_asks_nobody(hai: Hai, platform: Any, words: list[str]) -> None:
    assert hai(*words).out == "hai 0.1.0\n"
    assert json.loads(hai("--json", *words).out) == {"version": "0.1.0"}
    assert platform.calls == []


def test_the_check_shows_each_part_and_that_nothing_must_be_done(hai: Hai, platform: Any) -> None:
    platform.versions["parts"] = [
        part("loop", "0.1.0"),
        part("supervisor", None, 2),
        part("supervisor", "0.1.0", 1),
        part("panel", "0.1.3"),
        part("chart", "0.1.0"),
        part("something-new", "0.1.0"),
    ]
    result = hai("version", "--check")
    assert (result.code, result.err) == (0, "")
    rows = [line.split("  ") for line in result.out.splitlines()]
    assert rows[0] == ["service", "0.1.0"]
    found = [[word.strip() for word in row if word] for row in rows[2:]]
    assert found == [
        ["hai", "0.1.0", "yes", "0.3"],
        ["scheduling loop", "0.1.0", "yes", "0.3"],
        ["supervisors", "-", "not known", "-", "2 live runs that have not said it yet"],
        ["supervisors", "0.1.0", "yes", "0.4", "1 live run"],
        ["panel", "0.1.3", "yes", "0.3"],
        ["chart", "0.1.0", "yes", "0.2"],
        ["database", "0026", "yes", "-"],
    ]


@pytest.mark.parametrize(
    ("service", "parts", "code", "words"),
    [
        ("0.2.0", [], 0, "pip install 'hai-client~=0.2.0'"),
        ("0.3.0", [], 1, "hai 0.1.0 is too old"),
        ("0.1.0", [part("supervisor", "0.2.0")], 0, "1 live run"),
        ("0.1.0", [part("supervisor", "0.3.0", 7)], 1, "7 live runs; supervisors of 0.3.0 are newer"),
        ("0.1.0", [part("loop", "0.2.0")], 0, "while an upgrade goes on"),
        ("0.1.0", [part("loop", "0.3.0")], 1, "must not share a database"),
        ("0.1.0", [part("panel", "0.2.0")], 0, "reload the page"),
        ("0.1.0", [part("chart", "0.2.0")], 1, "the image has HAI 0.1.0, and the chart is 0.2.0"),
    ],
)
def test_the_status_says_whether_something_must_be_done(
    hai: Hai, platform: Any, service: str, parts: list[Any], code: int, words: str
) -> None:
    platform.versions.update(service=service, parts=parts)
    result = hai("version", "--check")
    assert (result.code, result.err) == (code, "")
    assert words in result.out
    said = json.loads(hai("version", "--check", "--json").out)
    assert (said["must"], said["service"], said["problem"]) == (code == 1, service, None)


def test_a_database_of_a_newer_version_is_told_of(hai: Hai, platform: Any) -> None:
    platform.versions["revision"] = "0027"
    result = hai("version", "--check")
    assert result.code == 0
    assert "this one knows them up to 0026" in result.out


@pytest.mark.parametrize(("service", "code"), [("0.1.0", 0), ("0.3.0", 1)])
def test_without_a_login_it_compares_with_what_everybody_is_told(
    hai: Hai, platform: Any, monkeypatch: pytest.MonkeyPatch, service: str, code: int
) -> None:
    monkeypatch.delenv("HAI_TOKEN")
    platform.versions["service"] = service
    result = hai("version", "--check")
    assert (result.code, "hai login" in result.err) == (code, True)
    assert f"service  {service}" in result.out


def test_a_platform_that_refuses_this_version_still_says_its_own(hai: Hai, platform: Any, fake: Any) -> None:
    def refuse(_call: Any) -> None:
        raise fake.Refuse(406, "version", "hai 0.1.0 is too old for the platform.")

    platform.versions["service"] = "0.3.0"
    platform.before = [refuse]
    result = hai("version", "--check")
    assert result.code == 1
    assert "hai 0.1.0 is too old for the platform" in result.err


def test_without_an_address_it_says_so(hai: Hai, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HAI_URL")
    monkeypatch.delenv("HAI_TOKEN")
    result = hai("version", "--check")
    assert (result.code, "no platform is known" in result.err) == (0, True)
    said = json.loads(hai("version", "--check", "--json").out)
    assert (said["service"], said["must"], said["parts"][0]["state"]) == (None, False, "unknown")


def test_without_a_service_it_says_so_and_does_not_wait(hai: Hai, platform: Any, fake: Any) -> None:
    def away(_call: Any) -> None:
        raise fake.Refuse(503, "restarting", "HAI is restarting")

    platform.before = [away] * 2
    result = hai("version", "--check")
    assert (result.code, "HAI is restarting" in result.err) == (4, True)
    assert "service  not known" in result.out
    assert len(platform.calls) == 2
