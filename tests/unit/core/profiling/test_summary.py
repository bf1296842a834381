"""What a trace says in numbers."""

from __future__ import annotations

import pytest

from hai_scheduler.core.profiling.summary import summary_of
from kit.traces import packed, steps


def test_operators_count_without_those_inside_them() -> None:
    found = summary_of(packed(steps(3)))
    own = {one.name: one.self_s for one in found.operators}
    assert own["aten::linear"] == pytest.approx(3 * 200e-6)
    assert sum(one.share for one in found.operators) == pytest.approx(1)
