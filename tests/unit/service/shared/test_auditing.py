"""What an entry of the audit keeps of large things."""

from __future__ import annotations

import json

from hai_scheduler.service.shared.auditing import MOST, bounded


def test_small_facts_are_kept_as_they_are() -> None:
    facts = {"limit": 8, "groups": ["cv"], "ceiling": None}
    assert bounded(facts) is facts
    assert bounded(None) is None


def test_of_large_facts_the_long_fields_are_named_by_their_length() -> None:
    weights = {f"user-{number:04}": 1.0 for number in range(1000)}
    assert bounded({"weights": weights, "slice": "1h"}) == {
        "weights": f"({len(json.dumps(weights))} characters)",
        "slice": "1h",
    }


def test_very_many_fields_are_cut() -> None:
    kept = bounded({f"field-{number:05}": "x" * 20 for number in range(10_000)})
    assert kept is not None
    assert len(json.dumps(kept)) < 2 * MOST
    assert list(kept)[-1] == "..."
    assert kept["..."] == f"({10_000 - len(kept) + 1} more fields)"
