"""A transaction of every store has the parts that the port names (hai_scheduler/ports/stored)."""

from __future__ import annotations

import inspect
from typing import get_type_hints

from hai_scheduler.ports.store import Store, Tx

#: The parts by name, each with its protocol.
PARTS: dict[str, type] = {
    name: get_type_hints(found.fget)["return"] for name, found in vars(Tx).items() if isinstance(found, property)
}


def methods(protocol: type) -> dict[str, object]:
    return {name: found for name, found in vars(protocol).items() if inspect.isfunction(found) and name[0] != "_"}


def call_of(method: object) -> list[tuple[str, object, object]]:
    """How a method is called: its parameters without their types."""
    given = inspect.signature(method).parameters.values()  # type: ignore[arg-type]
    return [(one.name, one.kind, one.default) for one in given if one.name != "self"]


def test_the_port_has_parts_with_methods() -> None:
    assert len(PARTS) > 10
    assert [name for name, protocol in PARTS.items() if not methods(protocol)] == []


async def test_every_part_is_called_as_the_port_says(store: Store) -> None:
    async with store.read() as tx:
        wrong = [
            f"{part}.{name}"
            for part, protocol in PARTS.items()
            for name, method in methods(protocol).items()
            if call_of(getattr(getattr(tx, part), name)) != call_of(method)
        ]
    assert wrong == []


async def test_a_part_has_no_methods_beside_those_of_the_port(store: Store) -> None:
    async with store.read() as tx:
        beside = {
            f"{part}.{name}"
            for part, protocol in PARTS.items()
            for name, _ in inspect.getmembers(getattr(tx, part), inspect.ismethod)
            if name[0] != "_" and name not in methods(protocol)
        }
    assert beside == set()


async def test_parts_of_an_ended_transaction_refuse(store: Store) -> None:
    async with store.read() as tx:
        pass
    answered = []
    for part, protocol in PARTS.items():
        for name, method in methods(protocol).items():
            if not any(default is inspect.Parameter.empty for _, _, default in call_of(method)):
                try:
                    await getattr(getattr(tx, part), name)()
                except RuntimeError:
                    continue
                answered.append(f"{part}.{name}")
    assert answered == []
