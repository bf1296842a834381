"""The REST calls for secrets of the caller. A value is sent as the bytes of a body, and never comes back."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hai_client import wire
from hai_client.calls.base import Calls
from hai_client.constants import MAX_SECRET_BYTES, NAME_PATTERN
from hai_client.errors import Invalid

_BYTES = {"Content-Type": "application/octet-stream"}


class SecretCalls(Calls):
    """The calls of `Client` for secrets."""

    def secrets(self) -> Sequence[wire.storage.OwnSecret]:
        """Return the caller's secrets without their values, by name."""
        return self._get(wire.storage.SecretList, "GET", "/secrets").items

    def set_secret(self, name: str, value: bytes | str) -> wire.storage.OwnSecret:
        """Set a secret of the caller: runs that start from then on get the value.

        Args:
            name: Its name, such as HF_TOKEN.
            value: Its value; a text is sent as UTF-8.

        Raises:
            Invalid: The name is none, or the value is empty or too large. The message does not show the value.
        """
        data = value.encode() if isinstance(value, str) else bytes(value)
        path = _path(name)
        if not data:
            raise Invalid(f"value: is empty; give the value of {name}")
        if len(data) > MAX_SECRET_BYTES:
            raise Invalid(f"value: has {len(data)} bytes, and {MAX_SECRET_BYTES} is the most of a secret")
        return self._get(wire.storage.OwnSecret, "PUT", path, body=data, headers=_BYTES)

    def remove_secret(self, name: str) -> None:
        """Remove a secret of the caller: tasks that name it do not start any more. Raises NotFound."""
        self._http.call("DELETE", _path(name))

    def reseal_secrets(self) -> wire.storage.Resealed:
        """Have the secrets of all users sealed with the newest key; for admins."""
        return self._get(wire.storage.Resealed, "POST", "/secrets/reseal")


def _path(name: str) -> str:
    """Return the path of a secret. Raises Invalid: what is no name may be a value, and no address shows one."""
    if not re.fullmatch(NAME_PATTERN, name):
        before, equals, _ = name.partition("=")
        if equals and re.fullmatch(NAME_PATTERN, before):
            raise Invalid(f"name: give {before} alone; a value is never a part of an address or of a command line")
        raise Invalid("name: use up to 63 letters, digits, '.', '_' and '-', beginning with a letter or digit")
    return f"/secrets/{name}"
