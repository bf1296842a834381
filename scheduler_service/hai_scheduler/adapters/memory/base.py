"""The base class of all parts of a transaction."""

from __future__ import annotations

from hai_scheduler.adapters.memory.state import State


class TxPart:
    """A part of a transaction, which works on its own state; the store takes that over at the end or drops it."""

    def __init__(self, state: State, *, writing: bool) -> None:
        #: The state as the transaction has changed it so far.
        self.state = state
        self._writing = writing
        self._over = False

    def end(self) -> None:
        """End the transaction: every later call raises RuntimeError."""
        self._over = True

    def _seen(self) -> State:
        if self._over:
            raise RuntimeError("this transaction is over: use it inside its `async with` only")
        return self.state

    def _writable(self) -> State:
        if not self._writing:
            raise RuntimeError("this is a read view: write in `Store.write()`")
        return self._seen()
