"""`hai admin audit` and `hai admin health`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from hai_client.cli.platform.oversight import change_of

Hai = Callable[..., Any]


def entry(**more: Any) -> dict[str, Any]:
    row = {
        "number": 7, "at": "2026-11-21T04:00:00Z", "actor": "root", "action": "node.drained",
        "subject": "node:node-3", "before": {"mark": "none"}, "after": {"mark": "draining"}, "address": None,
    }  # fmt: skip
    return {**row, **more}


def test_the_audit_is_a_table_of_who_did_what(hai: Hai, platform: Any) -> None:
    assert hai("admin", "audit").out == "none: no admin has changed anything that matches\n"
    platform.audit = [entry(), entry(number=6, actor="eve", address="10.0.0.7")]
    out = hai("admin", "audit").out.splitlines()
    assert "mark: none -> draining" in out[1]
    assert "eve" in out[2]
    assert len(json.loads(hai("admin", "audit", "-n", "1", "--json").out)["items"]) == 1


def test_what_is_asked_for_is_sent(hai: Hai, platform: Any) -> None:
    words = [
        "--who",
        "root",
        "--action",
        "quota",
        "--subject",
        "user:ann",
        "--since",
        "2026-11-01",
        "--until",
        "2026-11",
    ]
    assert hai("admin", "audit", *words).code == 0
    query = platform.said("GET", "/audit")[-1].query
    assert (query["who"], query["action"], query["subject"]) == ("root", "quota", "user:ann")
    assert query["since"].startswith("2026-11-01T00:00:00")
    assert query["until"].startswith("2026-12-01T00:00:00")
    wrong = hai("admin", "audit", "--since", "someday")
    assert (wrong.code, "since" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (None, {"limit": 8, "ceiling": None}, "limit: 8"),
        ({"limit": 8}, None, "limit: 8"),
        ({"limit": 8, "group": "a"}, {"limit": None, "group": "a"}, "limit: 8 -> none"),
        ({"slice": "1h"}, {"slice": "1h"}, "-"),
        (None, None, "-"),
        ({"weights": {"ann": 1}}, {"weights": {"ann": 2}}, 'weights: {"ann": 1} -> {"ann": 2}'),
    ],
)
def test_a_change_names_the_fields_that_differ(before, after, text: str) -> None:
    assert change_of(before, after) == text


def test_a_long_value_is_cut() -> None:
    assert change_of(None, {"note": "x" * 100}) == f"note: {'x' * 40}..."


def test_the_health_has_every_part_and_the_runbooks(hai: Hai, platform: Any) -> None:
    out = hai("admin", "health").out
    for words in (
        "degraded",
        "decides",
        "10 ms (p50), 200 ms (p95)",
        "A node is lost.",
        "sqlite, 5.0 MB, revision 0023, 2 ms",
        "does not answer; nodes: 2 free, 1 lost",
        "service 0.1.0",
        "HaiNodesLost: docs/runbooks/HaiNodesLost.md",
    ):
        assert words in out
    assert json.loads(hai("admin", "health", "--json").out)["database"]["kind"] == "sqlite"
