"""Questions to the ledger, and the lines of the answer."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hai_scheduler.core.ledger.asking import By, LedgerQuestion, lines_of
from hai_scheduler.core.ledger.kinds import WorkKind
from hai_scheduler.core.ledger.periods import Period, begin_of
from hai_scheduler.core.ledger.row import LedgerKey
from hai_scheduler.core.ledger.sums import Sums, total
from hai_scheduler.core.model.priority import Priority
from kit.builders import T0, at

Found = list[tuple[LedgerKey, datetime, Sums]]


def a_question(*by: By) -> LedgerQuestion:
    return LedgerQuestion(since=T0, until=at(hours=100), by=by)


keys = st.builds(
    LedgerKey,
    user=st.sampled_from(["ann", "bob", "cy"]),
    groups=st.sets(st.sampled_from(["nlp", "vision", "ai"])).map(lambda names: tuple(sorted(names))),
    node_group=st.sampled_from(["training", "big"]),
    priority=st.sampled_from(list(Priority)),
    kind=st.sampled_from(list(WorkKind)),
)
found = st.lists(
    st.tuples(
        keys,
        st.integers(0, 99).map(lambda hours: T0 + timedelta(hours=hours)),
        st.integers(0, 9).map(lambda runs: Sums(starts=runs, useful_us=runs * 3)),
    ),
    max_size=20,
)


@given(found, st.sampled_from([by for by in By if by is not By.GROUP]))
def test_any_table_but_that_of_groups_has_the_sum_of_all(some: Found, by: By) -> None:
    lines = lines_of(a_question(by), some)
    assert total(line.sums for line in lines) == total(sums for _, _, sums in some)
    assert len({line.values for line in lines}) == len(lines)
    assert not any(line.sums.nothing for line in lines)


@given(found)
def test_a_group_has_all_runs_of_users_who_were_in_it(some: Found) -> None:
    lines = {line.values[0]: line.sums for line in lines_of(a_question(By.GROUP), some)}
    for group in ("nlp", "vision", "ai"):
        assert lines.get(group, Sums()) == total(sums for key, _, sums in some if group in key.groups)
        only = LedgerQuestion(since=T0, until=at(hours=100), groups=frozenset({group}))
        alone = lines_of(only, [each for each in some if only.concerns(each[0])])
        assert total(line.sums for line in alone) == lines.get(group, Sums())
    assert lines.get(None, Sums()) == total(sums for key, _, sums in some if not key.groups)


def test_lines_are_sorted_with_what_is_in_no_group_at_the_end() -> None:
    some = [
        (LedgerKey(user=user, groups=groups, node_group="x", priority=level, kind=WorkKind.TASK), T0, Sums(starts=1))
        for user, groups, level in (("b", ("z",), Priority.LOW), ("a", (), Priority.HIGH), ("c", ("g",), Priority.LOW))
    ]
    assert [line.values[0] for line in lines_of(a_question(By.GROUP), some)] == ["g", "z", None]
    assert [line.values[0] for line in lines_of(a_question(By.PRIORITY), some)] == [Priority.HIGH, Priority.LOW]
    assert lines_of(a_question(By.USER, By.DAY), some)[0].values == ("a", begin_of(Period.DAY, T0))


@pytest.mark.parametrize(
    ("by", "period"),
    [((), None), ((By.USER,), None), ((By.USER, By.DAY), Period.DAY), ((By.MONTH,), Period.MONTH)],
)
def test_the_period_of_a_question(by: tuple[By, ...], period: Period | None) -> None:
    assert a_question(*by).period is period
