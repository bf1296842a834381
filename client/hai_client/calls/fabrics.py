"""The REST calls for fabrics: what the network of a node group asks of pods, and for whom. All are for admins."""

from __future__ import annotations

from dataclasses import asdict

from hai_client import wire
from hai_client.calls.base import Calls
from hai_client.http import Query

#: Fields of answers alone.
_ANSWERED = ("version", "warnings")


class FabricCalls(Calls):
    """The calls of `Client` for fabrics."""

    def fabrics(self, *, user: str | None = None, group: str = "training") -> tuple[wire.storage.Fabric, ...]:
        """Return all fabrics, by node group and subject, or with a user the one that counts for them in a group.

        Raises:
            NotFound: None is for the user.
        """
        query: Query = {} if user is None else {"user": user, "group": group}
        return self._get(wire.storage.FabricList, "GET", "/fabrics", query=query).items

    def put_fabric(self, fabric: wire.storage.Fabric) -> wire.storage.Fabric:
        """Try a complete fabric and write it; it replaces an earlier one of the same node group and subject.

        Raises:
            Invalid: It is wrong, or the cluster would start no run with it; nothing was written.
        """
        return self._get(wire.storage.Fabric, "PUT", "/fabrics", body=_body(fabric))

    def try_fabric(self, fabric: wire.storage.Fabric) -> tuple[str, ...]:
        """Try a fabric and write nothing; returns warnings. Raises the same."""
        return self._get(wire.storage.FabricTried, "POST", "/fabrics/trial", body=_body(fabric), again=True).warnings

    def delete_fabric(self, group: str, subject: str = "public") -> None:
        """Remove a fabric."""
        self._http.call("DELETE", "/fabrics", body={"group": group, "subject": subject})


def _body(fabric: wire.storage.Fabric) -> dict[str, object]:
    return {name: value for name, value in asdict(fabric).items() if name not in _ANSWERED}
