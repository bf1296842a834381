"""The keys of an experiment file: which there are, what their values must be, and what is wrong with them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from hai_client.durations import parse_duration
from hai_client.errors import Invalid as WrongWord
from hai_scheduler.service.shared.errors import Invalid
from hai_scheduler.service.tasks.asked_fields import AskedField, asked_fields

_WHOLE_NODES: Final = "a task takes whole nodes: leave it out and set resource.node_count"

#: Keys of the original that HAI does not have, and what to do instead.
_ELSEWHERE: Final[Mapping[str, str]] = {
    "services": "HAI starts no services beside a task: start them from the entrypoint",
    "spec.git_remote_repo": "HAI does not fetch code: check it out into spec.workspace and leave this out",
    "spec.git_target_revision": "HAI does not fetch code: check the revision out in spec.workspace and leave this out",
    "resource.is_spot": "every task may be suspended and is resumed: leave it out",
    "resource.cpu": _WHOLE_NODES,
    "resource.gpu": "leave it out and set resource.gpus to take that number of GPUs of each node, or take whole nodes",
    "resource.memory": _WHOLE_NODES,
    "options.whole_life_state": "leave it out; the job keeps a state with hai_client.job.set_state and reads HAI_STATE",
    "options.mount_code": "a task sees the folders of its node: leave it out",
    "options.py_venv": "leave it out and name the environment's interpreter: entrypoint_executable with a script",
    "options.override_node_resource": _WHOLE_NODES,
    "options.watchdog_time": "HAI has no watchdog: leave it out, or submit with a time limit",
    "options.timeout": "leave it out and submit with a time limit",
    "options.shared_in_group": "tasks are their owner's: leave it out",
    "options.sidecar": "HAI starts nothing beside a task: leave it out",
    "options.profile": "HAI does not profile: leave it out and start the profiler from the entrypoint",
    "options.record_git_revision": "leave it out; a job can keep its revision with hai_client.job.set_state",
    "options.assigned_nodes": "nodes cannot be chosen: leave it out and set resource.node_count",
}

_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset({"version", "name", "priority", "spec", "resource", "options", "services"}),
    "spec": frozenset({"workspace", "entrypoint", "parameters", "environments", "secrets", "entrypoint_executable"}),
    "options": frozenset(
        {
            "tags",
            "retry_backoff",
            "retry_exit_codes",
            "signal",
            "watch",
            "snapshot",
            *(one.name for one in asked_fields()),
        }
    ),
    "resource": frozenset({"group", "node_count", "gpus", "ranks_per_node", "image"}),
}


class ExperimentFile:
    """Reads the keys of a file. A key with a wrong value adds a fault and reads as if it were missing.

    Args:
        root: The file as plain values.
    """

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self.faults: list[Invalid] = []
        self._check_keys("", root)

    def fault(self, path: str, value: Any, message: str) -> None:
        """Note what is wrong with the value of a key."""
        # A container is named, never printed: aliases can make a short file print as a very long one.
        shown = value if value is None or isinstance(value, str | int | bool) else f"a {_kind(value)}"
        self.faults.append(Invalid(path, shown[:200] if isinstance(shown, str) else shown, message))

    def section(self, name: str) -> dict[str, Any]:
        """Return the mapping of an optional key, whose own keys are checked; empty if there is none."""
        value = self.root.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.fault(name, value, f"must be a mapping, not {a_kind(value)}")
            return {}
        self._check_keys(name, value)
        return value

    def _check_keys(self, section: str, given: Mapping[str, Any]) -> None:
        known = _KEYS[section]
        for key, value in given.items():
            path = f"{section}.{key}" if section else key
            if path in _ELSEWHERE:
                if value:  # null, false and an empty list have no effect
                    self.fault(path, value, _ELSEWHERE[path])
            elif key not in known:
                close = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(known))}"
                self.fault(path, value, f"is not a key of an experiment: {hint}")

    def text(self, section: Mapping[str, Any], path: str) -> str:
        """Return the text of a required key; empty with a fault."""
        value = section.get(path.rpartition(".")[2])
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, str) and value:
            return value
        self.fault(path, value, "is missing" if value in (None, "") else f"must be a text, not {a_kind(value)}")
        return ""

    def flag(self, section: Mapping[str, Any], path: str) -> bool:
        """Return the truth value of an optional key; False if there is none."""
        value = section.get(path.rpartition(".")[2])
        if value is None or isinstance(value, bool):
            return bool(value)
        self.fault(path, value, f"must be true or false, not {a_kind(value)}")
        return False

    def texts(self, path: str, values: list[Any]) -> tuple[str, ...]:
        """Return the texts of a list."""
        texts: list[str] = []
        for index, value in enumerate(values):
            if isinstance(value, str | int) and not isinstance(value, bool):
                texts.append(str(value))
            else:
                self.fault(f"{path}[{index}]", value, f"must be a text, not {a_kind(value)}: put it in quotes")
        return tuple(texts)

    def number(self, section: Mapping[str, Any], path: str, *, least: int, most: int | None = None) -> int | None:
        """Return the whole number of an optional key; None with a fault, or if there is none."""
        value = section.get(path.rpartition(".")[2])
        if value is None:
            return None
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and value >= least
            and (most is None or value <= most)
        ):
            return value
        allowed = f"{least} or more" if most is None else f"from {least} to {most}"
        self.fault(path, value, f"must be a whole number, {allowed}")
        return None

    def length(
        self, section: Mapping[str, Any], path: str, *, least: float = 0, most: float | None = None
    ) -> timedelta | None:
        """Return the length of time of an optional key; None with a fault, or if there is none."""
        value = section.get(path.rpartition(".")[2])
        if value is None:
            return None
        try:
            seconds = parse_duration(str(value), field=path) if isinstance(value, str | int) else -1
        except WrongWord:
            seconds = -1
        if isinstance(value, bool) or not least <= seconds or (most is not None and seconds > most):
            self.fault(path, value, "is not a length of time: write for example 30s or 5m")
            return None
        return timedelta(seconds=seconds)

    def asked(self, section: Mapping[str, Any], field: AskedField) -> Any:
        """Return the value of an optional key that is read by the definition of its field; None: there is none."""
        path = f"options.{field.name}"
        if section.get(field.name) is None:
            return None
        match field.kind:
            case "number":
                most = None if field.most is None else int(field.most)
                return self.number(section, path, least=int(field.least or 0), most=most)
            case "length":
                return self.length(section, path, least=field.least or 0, most=field.most)
            case "flag":
                return self.flag(section, path)
            case "text":
                return self.text(section, path)
            case "word":
                value = self.text(section, path)
                if value and value not in field.words:
                    self.fault(path, value, f"must be one of {', '.join(field.words)}")
                return value


def _kind(value: Any) -> str:
    names = {dict: "mapping", list: "list", bool: "truth value", int: "number", str: "text", type(None): "null"}
    return names.get(type(value), "value of another kind")


def a_kind(value: Any) -> str:
    """Return what kind of value something is, for a sentence: `a list`, `null`."""
    kind = _kind(value)
    return kind if kind == "null" else f"a {kind}"
