"""The parts of a transaction, whichever there are."""

from __future__ import annotations

import inspect

from hai_scheduler.store.store import Store


async def test_parts_of_an_ended_transaction_refuse(store: Store) -> None:
    async with store.read() as tx:
        pass
    parts = {name: part for name, part in vars(tx).items() if name[0] != "_"}
    assert len(parts) > 10
    asked, answered = [], []
    for name, part in parts.items():
        for what, method in inspect.getmembers(part, inspect.iscoroutinefunction):
            needs = [one for one in inspect.signature(method).parameters.values() if one.default is one.empty]
            if what[0] != "_" and not needs:
                asked.append(f"{name}.{what}")
                try:
                    await method()
                except RuntimeError:
                    continue
                answered.append(asked[-1])
    assert len(asked) > 10
    assert answered == []
