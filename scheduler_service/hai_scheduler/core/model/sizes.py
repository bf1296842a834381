"""How much space a task takes in the database."""

from __future__ import annotations

from collections.abc import Iterable

from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.model.task import TaskSpec


def size_of(spec: TaskSpec) -> int:
    """Return the bytes, in UTF-8, of all texts in a task's description. Whatever else is stored of a task is small."""
    texts: Iterable[str] = (
        *spec.command,
        spec.cwd,
        *spec.env.keys(),
        *spec.env.values(),
        *spec.tags,
        *spec.watch,
        spec.checkpoint_dir or "",
        spec.environment or "",
        spec.image or "",
        *(str(ref) for ref in spec.secrets),
        *_texts_of(spec.haienv),
    )
    return sum(len(text.encode("utf-8", "replace")) for text in texts)


def _texts_of(pin: Pin | None) -> Iterable[str]:
    return () if pin is None else (pin.name, pin.interpreter, *pin.variables.keys(), *pin.variables.values())
