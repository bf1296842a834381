"""An immutable map of which a copy with one change is cheap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

_V = TypeVar("_V")

#: 256 values a page: with 100,000 values a change copies a page of 256 and a list of 400 pages.
_PAGE_BITS = 8


class PagedMap(Generic[_V]):
    """Values by positive number, in pages. A change returns a new shelf that shares all pages but one.

    So a transaction is a value: it is rolled back by dropping it, and readers keep the shelf they began with.
    """

    __slots__ = ("_pages", "_size")

    def __init__(self, pages: Mapping[int, Mapping[int, _V]] | None = None, size: int = 0) -> None:
        self._pages = pages or {}
        self._size = size

    def __len__(self) -> int:
        return self._size

    def get(self, key: int) -> _V | None:
        """Return the value at a key; None without one."""
        return self._pages.get(key >> _PAGE_BITS, {}).get(key)

    def put(self, key: int, value: _V) -> PagedMap[_V]:
        """Return a shelf with the value at the key."""
        number = key >> _PAGE_BITS
        page = self._pages.get(number, {})
        return PagedMap({**self._pages, number: {**page, key: value}}, self._size + (key not in page))

    def drop(self, key: int) -> PagedMap[_V]:
        """Return a shelf without the key."""
        number = key >> _PAGE_BITS
        page = self._pages.get(number, {})
        if key not in page:
            return self
        rest = {k: v for k, v in page.items() if k != key}
        others = {k: v for k, v in self._pages.items() if k != number}
        return PagedMap({**others, number: rest} if rest else others, self._size - 1)

    def rising(self) -> Iterator[_V]:
        """Yield the values in the order of their keys."""
        for number in sorted(self._pages):
            page = self._pages[number]
            yield from (page[key] for key in sorted(page))

    def after(self, key: int) -> Iterator[_V]:
        """Yield the values with greater keys, in the order of their keys."""
        first = (key + 1) >> _PAGE_BITS
        for number in sorted(n for n in self._pages if n >= first):
            page = self._pages[number]
            yield from (page[k] for k in sorted(page) if k > key)

    def falling(self, below: int | None = None) -> Iterator[_V]:
        """Yield the values with keys smaller than `below`, greatest key first."""
        for number in sorted(self._pages, reverse=True):
            page = self._pages[number]
            yield from (page[k] for k in sorted(page, reverse=True) if below is None or k < below)
