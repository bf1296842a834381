"""A certificate that is renewed on disk while the proxy runs."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from hai_client.certificates import CertificateError, serving

#: Seconds between two looks at the files.
LOOK_S: Final = 30.0


class Renewal:
    """Looks whether a certificate or its key is another file than before, and hands on what serves TLS with them.

    Args:
        certificate: The file with the certificate.
        key: The file with its key.
        log: Log for renewals, and for files that cannot be used.

    Raises:
        CertificateError: The files cannot be used.
    """

    def __init__(self, certificate: Path, key: Path, log: logging.Logger) -> None:
        self._files = (certificate, key)
        self._log = log
        self._seen = self._look()
        self.context: ssl.SSLContext = serving(certificate, key)
        #: Gets what new connections are served with, when the files are others.
        self.renewed: list[Callable[[ssl.SSLContext], None]] = []

    def look(self) -> None:
        """Read the files again if they have changed. What cannot be used is logged, and the old ones serve on."""
        seen = self._look()
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self.context = serving(*self._files)
        except CertificateError as error:
            # Two files are replaced one after the other: the next look finds both.
            self._log.warning("The renewed certificate is not used yet: %s", error)
            return
        for use in self.renewed:
            use(self.context)
        self._log.info("New connections get the certificate that is in %s now", self._files[0])

    def _look(self) -> list[tuple[int, int, int]]:
        found = []
        for file in self._files:
            with suppress(OSError):
                stat = file.stat()
                found.append((stat.st_mtime_ns, stat.st_ino, stat.st_mode))
        return found
