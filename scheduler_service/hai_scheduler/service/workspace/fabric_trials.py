"""Trials of fabrics: the API asks for one, and the leading loop, which alone may make pods, carries it out.

The order and its answer are one setting of the platform, so that both work in whichever process they are.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hai_scheduler.core.workspace.fabrics import Fabric
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.fabric_trials import FabricRefused
from hai_scheduler.service.shared.errors import Conflict, Invalid, Unavailable
from hai_scheduler.service.shared.topics import FABRIC_TRIAL
from hai_scheduler.service.shared.world import UseCase
from hai_scheduler.store.codec import fields_codec

log = logging.getLogger(__name__)

_SETTING: Final = "fabric_trial"


@dataclass(slots=True, eq=False)
class FabricTrials(UseCase):
    """Both sides of a trial."""

    #: How long one who asks waits for the answer, in seconds.
    patience: float = 20.0
    #: The longest time between two looks, in seconds: a lost ring delays a trial by at most that.
    look_every: float = 5.0

    async def ask(self, fabric: Fabric) -> Sequence[str]:
        """Have a fabric tried; nothing else is changed.

        Returns:
            Warnings.

        Raises:
            Invalid: No run with it could start.
            Conflict: Another fabric was given to try at the same time.
            Unavailable: It could not be tried.
        """
        asked = secrets.token_hex(8)
        async with self.bus.listen(FABRIC_TRIAL) as ears:
            async with self.store.write() as tx:
                order = {"id": asked, "fabric": fields_codec(Fabric).write(fabric)}
                await tx.settings.put(_SETTING, json.dumps(order))
            await self.bus.ring(FABRIC_TRIAL)
            ends = self.clock.steady() + self.patience
            while (answer := await self._answer(asked)) is None:
                left = ends - self.clock.steady()
                if left <= 0:
                    raise Unavailable(
                        f"The scheduler did not try the fabric within {self.patience:.0f} s, and nothing was written: "
                        "look at `hai admin health`, and try again."
                    )
                await ears.wait(min(left, self.look_every))
        return _warnings_of(answer)

    async def _answer(self, asked: str) -> dict[str, Any] | None:
        """Return the answer and forget the order; None: there is none yet. Raises Conflict."""
        async with self.store.read() as tx:
            order = _order_of(await tx.settings.get(_SETTING))
        if order is None or order["id"] != asked:
            raise Conflict("Another admin tries a fabric at the same moment: try again.")
        if "answer" not in order:
            return None
        async with self.store.write() as tx:
            await tx.settings.put(_SETTING, None)
        return dict(order["answer"])

    async def carry_out(self) -> None:
        """Try the fabric that is to be tried, if there is one."""
        async with self.store.read() as tx:
            text = await tx.settings.get(_SETTING)
        order = _order_of(text)
        if order is None or "answer" in order:
            return
        answered = json.dumps({**order, "answer": await self._tried(fields_codec(Fabric).read(order["fabric"]))})
        async with self.store.write() as tx:
            if await tx.settings.get(_SETTING) == text:
                await tx.settings.put(_SETTING, answered)
        await self.bus.ring(FABRIC_TRIAL)

    async def _tried(self, fabric: Fabric) -> dict[str, Any]:
        try:
            return {"warnings": list(await self.world.cluster.fabrics.try_out(fabric))}
        except FabricRefused as error:
            return {"refused": [error.field, error.value, error.message]}
        except Temporary as error:
            return {"away": str(error)}

    async def run(self, leads: Callable[[], bool]) -> None:
        """Carry out trials until cancelled, whenever this replica leads."""
        async with self.bus.listen(FABRIC_TRIAL) as ears:
            while True:
                if leads():
                    try:
                        await self.carry_out()
                    except Exception:  # one who asks is told that there was no answer
                        log.exception("a fabric could not be tried")
                await ears.wait(self.look_every)


def _order_of(text: str | None) -> dict[str, Any] | None:
    return None if text is None else dict(json.loads(text))


def _warnings_of(answer: dict[str, Any]) -> list[str]:
    if "refused" in answer:
        raise Invalid(*answer["refused"])
    if "away" in answer:
        raise Unavailable(f"The cluster cannot try the fabric now, and nothing was written: {answer['away']}")
    return [str(text) for text in answer["warnings"]]
