"""What all parts of a transaction share."""

from __future__ import annotations

from hai_scheduler.adapters.memory.state import State


class Part:
    """A transaction is a state of its own that the store takes over at the end, or drops."""

    def __init__(self, state: State, *, writing: bool) -> None:
        #: What the transaction has made of the state it began with.
        self.state = state
        self._writing = writing
        self._over = False

    def end(self) -> None:
        """Nothing can be done in it any more."""
        self._over = True

    def _seen(self) -> State:
        if self._over:
            raise RuntimeError("this transaction is over: use it inside its `async with` only")
        return self.state

    def _writable(self) -> State:
        if not self._writing:
            raise RuntimeError("this is a read view: write in `Store.write()`")
        return self._seen()
