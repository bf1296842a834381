"""What a transaction in memory has made of the state so far."""

from __future__ import annotations

from kit.memory.state import State


class Draft:
    """The state as one transaction has changed it so far; the store takes that over at the end or drops it."""

    def __init__(self, state: State, *, writing: bool) -> None:
        #: The state that the store takes over; parts read `seen()` and start changes from `writable()`.
        self.state = state
        self._writing = writing
        self._over = False

    def end(self) -> None:
        """End the transaction: every later call raises RuntimeError."""
        self._over = True

    def seen(self) -> State:
        """Return the state. Raises RuntimeError after the end."""
        if self._over:
            raise RuntimeError("this transaction is over: use it inside its `async with` only")
        return self.state

    def writable(self) -> State:
        """Return the state, from which the caller makes the next one. Raises RuntimeError in a view, and at the end."""
        if not self._writing:
            raise RuntimeError("this is a read view: write in `Store.write()`")
        return self.seen()


class MemoryPart:
    """A part of a transaction; all its parts share the draft."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
