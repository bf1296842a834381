"""Names and labels of what belongs to a run."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

from hai_scheduler.core.model.ids import Origin, RunId
from hai_scheduler.ports.errors import Absent

PREFIX: Final = "hai.jupyter.org/"
MANAGED: Final = "app.kubernetes.io/managed-by"
MANAGER: Final = "hai"
#: What lists and watches ask for.
SELECTOR: Final = f"{MANAGED}={MANAGER}"
TASK: Final = f"{PREFIX}task"
RUN: Final = f"{PREFIX}run"
RANK: Final = f"{PREFIX}rank"
USER: Final = f"{PREFIX}user"
#: Which database has decided the run, and in which of its epochs (decision 0016).
ORIGIN: Final = f"{PREFIX}origin"
#: The ConfigMap that keeps how far each database has come.
MARKS: Final = "hai-databases"
#: Annotations of the Service, which is the record of its run.
NODES: Final = f"{PREFIX}nodes"
#: All pods were created: one that is missing now was removed, and is never created again.
LAUNCHED: Final = f"{PREFIX}launched"
#: The run was ordered to end.
KILLED: Final = f"{PREFIX}killed"
#: It could not be started: JSON, see `record`.
START_ERROR: Final = f"{PREFIX}start-error"

#: The longest value of a label.
_MOST = 63
_LABEL: Final = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
#: The key of a label, an annotation or a taint: a name, and a domain with a slash before it.
KEY: Final = re.compile(r"([a-z0-9][a-z0-9.-]{0,252}/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
#: The longest number that every store can keep, in digits: other programs may have written a longer one.
_MOST_DIGITS = 18


def parts_of(run_id: str) -> tuple[str, str]:
    """Return the task's id and the number of a run, both as text. Raises Absent for a malformed id."""
    task, dot, number = run_id.partition(".")
    if not (dot and _is_number(task) and _is_number(number)):
        raise Absent(f"there is no run {run_id!r}")
    return task, number


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


def run_name(run_id: str) -> str:
    """Return the name of the run's Service and Secret. Raises Absent for a malformed id."""
    task, number = parts_of(run_id)
    return f"hai-{task}-{number}"


def pod_name(run_id: str, rank: int) -> str:
    """Return the name of a rank's pod. Raises Absent for a malformed id."""
    return f"{run_name(run_id)}-{rank}"


def run_labels(run_id: str, user: str, origin: Origin | None = None) -> dict[str, str]:
    """Return the labels of all objects of a run. Raises Absent for a malformed id."""
    task, number = parts_of(run_id)
    labels = {MANAGED: MANAGER, TASK: task, RUN: number, USER: label_value(user)}
    return labels if origin is None else {**labels, ORIGIN: str(origin)}


def run_selector(run_id: str) -> str:
    """Return the label selector of a run's pods. Raises Absent for a malformed id."""
    task, number = parts_of(run_id)
    return f"{SELECTOR},{TASK}={task},{RUN}={number}"


def label_value(text: str) -> str:
    """Return a text as a valid label value: unchanged if it is valid, else changed, with a hash at its end."""
    if text and _LABEL.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text)[: _MOST - 9].strip("._-")
    return f"{plain}-{digest}" if plain else digest


def run_of(thing: dict[str, Any]) -> RunId | None:
    """Return the run that a Service or a pod belongs to; None for objects of other programs."""
    labels = thing["metadata"].get("labels") or {}
    task, number = labels.get(TASK, ""), labels.get(RUN, "")
    return RunId(f"{task}.{number}") if _is_number(task) and _is_number(number) else None


def origin_of(thing: dict[str, Any]) -> Origin | None:
    """Return the origin of the run that a Service or a pod belongs to; None if the object carries none."""
    return Origin.parse((thing["metadata"].get("labels") or {}).get(ORIGIN))


def user_of(thing: dict[str, Any]) -> str | None:
    """Return the user of a run as its label has it, which may be changed by `label_value`; None without the label."""
    user = (thing["metadata"].get("labels") or {}).get(USER)
    return None if user is None else str(user)


def rank_of(pod: dict[str, Any]) -> int | None:
    """Return the rank of a pod; None for pods of other programs."""
    text = (pod["metadata"].get("labels") or {}).get(RANK, "")
    # A gang has fewer than a million ranks: another program has written a longer number.
    return int(text) if _is_number(text) and len(text) <= 6 else None


def fault_of_extra(key: object, value: object, *, label: bool) -> str:
    """Return why an admin's own label or annotation cannot be put on pods of ranks; empty if it can."""
    if not isinstance(key, str) or not isinstance(value, str):
        return "write keys and values as text"
    if not KEY.fullmatch(key):
        return f"{key!r} is no key: write for example example.org/team"
    if key == MANAGED or key.startswith(PREFIX):
        return f"{key} is the platform's own: leave it out"
    if label and not _LABEL.fullmatch(value):
        return f"{value!r} is no value of a label: at most {_MOST} of A-Z, a-z, 0-9, -, _ and ."
    return ""
