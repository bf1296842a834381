"""How much a task takes to keep."""

from __future__ import annotations

from collections.abc import Iterable

from hai_scheduler.core.model.task import TaskSpec


def size_of(spec: TaskSpec) -> int:
    """Bytes of all the text in a description, in UTF-8: what a user decides on. What stands around it is small."""
    texts: Iterable[str] = (
        *spec.command,
        spec.cwd,
        *spec.env.keys(),
        *spec.env.values(),
        *spec.tags,
        *spec.watch,
        spec.checkpoint_dir or "",
        spec.environment or "",
    )
    return sum(len(text.encode("utf-8", "replace")) for text in texts)
