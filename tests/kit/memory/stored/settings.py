"""Small named values in a transaction of the memory store."""

from __future__ import annotations

from dataclasses import replace

from kit.memory.draft import MemoryPart


class MemorySettings(MemoryPart):
    """See `ports.stored.settings.StoredSettings`."""

    async def get(self, name: str) -> str | None:
        """See `StoredSettings.get`."""
        return self._draft.seen().settings.get(name)

    async def put(self, name: str, value: str | None) -> None:
        """See `StoredSettings.put`."""
        state = self._draft.writable()
        rest = {key: text for key, text in state.settings.items() if key != name}
        self._draft.state = replace(state, settings=rest if value is None else {**rest, name: value})
