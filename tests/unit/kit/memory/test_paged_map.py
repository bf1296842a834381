"""The shelf against a dict, whatever is done to it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kit.memory.paged_map import PagedMap

KEYS = st.integers(1, 2000)
STEPS = st.lists(st.tuples(st.booleans(), KEYS), max_size=60)


@given(STEPS, KEYS)
def test_a_shelf_holds_what_a_dict_would_and_old_shelves_stay_as_they_were(
    steps: list[tuple[bool, int]], border: int
) -> None:
    shelf: PagedMap[int] = PagedMap()
    plain: dict[int, int] = {}
    history: list[tuple[PagedMap[int], dict[int, int]]] = []
    for number, (put, key) in enumerate(steps):
        history.append((shelf, dict(plain)))
        if put:
            shelf = shelf.put(key, number)
            plain[key] = number
        else:
            shelf = shelf.drop(key)
            plain.pop(key, None)
    for held, expected in [*history, (shelf, plain)]:
        keys = sorted(expected)
        assert len(held) == len(expected)
        assert list(held.rising()) == [expected[key] for key in keys]
        assert list(held.falling()) == [expected[key] for key in reversed(keys)]
        assert list(held.falling(border)) == [expected[key] for key in reversed(keys) if key < border]
        assert list(held.after(border)) == [expected[key] for key in keys if key > border]
        assert all(held.get(key) == expected.get(key) for key in {*keys, border})
