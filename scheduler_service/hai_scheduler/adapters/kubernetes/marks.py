"""How far each database has come, in a ConfigMap of the runs' namespace (decision 0016)."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any, Final

from hai_scheduler.adapters.kubernetes.client import ApiRefused, Exists, KubernetesApi, Missing
from hai_scheduler.adapters.kubernetes.names import MANAGED, MANAGER, MARKS
from hai_scheduler.adapters.shared.origins import check_mark
from hai_scheduler.core.model.ids import Origin
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.ports.errors import Temporary

_NUMBERS: Final = tuple(field.name for field in fields(Mark) if field.name != "database")


class Marks:
    """The ConfigMap `hai-databases`: a key for each database. A write fails if it has changed since it was read."""

    def __init__(self, api: KubernetesApi, namespace: str) -> None:
        self._api = api
        self._all = f"/api/v1/namespaces/{namespace}/configmaps"
        self._one = f"{self._all}/{MARKS}"
        #: As last read or written; None when it must be read.
        self._known: dict[str, Any] | None = None
        #: The database of this process.
        self._own: str | None = None

    def is_own(self, origin: Origin | None) -> bool:
        """Whether a run of that origin may be of this process's database; a run without an origin may."""
        return origin is None or origin.database == self._own

    def is_anothers(self, origin: Origin | None) -> bool:
        """Whether a run of that origin is certainly another database's; False until this process has led once."""
        return self._own is not None and not self.is_own(origin)

    async def all(self) -> list[Mark]:
        """Return the marks of all databases. Raises Temporary."""
        self._known = await self._read()
        return list(_marks_in(self._known).values())

    async def put(self, mark: Mark) -> None:
        """Write a mark in place of the last one of its database. Raises Superseded, Temporary."""
        self._own = mark.database
        if self._known is None:
            self._known = await self._read()
        check_mark(_marks_in(self._known).get(mark.database), mark)
        data = {mark.database: json.dumps({field: asdict(mark)[field] for field in _NUMBERS})}
        # Until it is known how this ends: another process may write as well.
        known, self._known = self._known, None
        try:
            self._known = await self._write(known, data)
        except Missing:
            raise Temporary(f"the ConfigMap {MARKS} was removed just now, and is made again") from None
        except Exists:
            raise Temporary(f"the ConfigMap {MARKS} was made by another process just now") from None
        except ApiRefused as error:
            raise Temporary(f"the ConfigMap {MARKS} cannot be written: {error}") from None

    async def _read(self) -> dict[str, Any]:
        """Return the ConfigMap; an empty dictionary if there is none."""
        try:
            return await self._api.request("GET", self._one)
        except Missing:
            return {}
        except ApiRefused as error:
            raise Temporary(f"the ConfigMap {MARKS} cannot be read: {error}") from None

    async def _write(self, known: dict[str, Any], data: dict[str, str]) -> dict[str, Any]:
        if not known:
            metadata: dict[str, Any] = {"name": MARKS, "labels": {MANAGED: MANAGER}}
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            return await self._api.request("POST", self._all, body=body)
        # The server refuses the request if another process has written since.
        version = {"resourceVersion": known["metadata"]["resourceVersion"]}
        return await self._api.request("PATCH", self._one, body={"metadata": version, "data": data})


def _marks_in(known: dict[str, Any]) -> dict[str, Mark]:
    """Return the marks in a ConfigMap, by database. Raises Temporary if one cannot be understood."""
    try:
        rows = {name: json.loads(text) for name, text in (known.get("data") or {}).items()}
        return {
            name: Mark(database=name, **{field: int(row[field]) for field in _NUMBERS}) for name, row in rows.items()
        }
    except (ValueError, KeyError, TypeError) as error:
        # Without the marks an id might be given twice.
        raise Temporary(
            f"the ConfigMap {MARKS} cannot be understood ({error}), so it is not known which ids have been given: "
            "correct it, or delete it if no task was ever run by another database"
        ) from None
