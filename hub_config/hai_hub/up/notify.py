"""Tell systemd, which has started this process, that the platform is ready."""

from __future__ import annotations

import os
import socket
from typing import Final

from hai_hub.shared.console import complain

_VARIABLE: Final = "NOTIFY_SOCKET"


class Notify:
    """The socket that systemd has named. Children do not get its name: only the platform as a whole is ready."""

    def __init__(self) -> None:
        self._address = os.environ.pop(_VARIABLE, "")

    @property
    def is_service(self) -> bool:
        """Whether a service manager has started this process: what it prints is kept in a log that others may read."""
        return bool(self._address)

    def ready(self) -> None:
        """Say that the platform answers. An error is printed: systemd then ends the start when its time is over."""
        if not self._address:
            return
        # A name that begins with @ is one without a file.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
                channel.connect(address)
                channel.sendall(b"READY=1")
        except OSError as error:
            complain(f"systemd cannot be told that HAI is ready: {error.strerror}")
