"""The certificate with which `hai up` speaks HTTPS: whether it can be used, for how long, and for which name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hai_client.certificates import CertificateError, serving
from hai_hub.shared.errors import wrong_input

if TYPE_CHECKING:
    from cryptography.x509 import Certificate as Certified

#: How long before its end it is warned of.
_SOON: Final = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class Certificate:
    """Two files in PEM."""

    file: Path  #: The certificate, and behind it those of its authorities.
    key: Path  #: Its private key.

    def check(self) -> None:
        """Check that it can be served. Raises UpError: it cannot; the message says why."""
        try:
            serving(self.file, self.key)
        except CertificateError as error:
            raise wrong_input(f"--certificate: {error}") from error

    def name(self) -> str | None:
        """Return the first name of a machine that it holds for; None: it names none, or only patterns."""
        # Importing it takes a moment, which only HTTPS pays for.
        from cryptography import x509

        try:
            names = self._read().extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return None
        return next((name for name in names.get_values_for_type(x509.DNSName) if "*" not in name), None)

    def caution(self, now: datetime | None = None) -> str | None:
        """Return a sentence about its end, if that is near or past; else None."""
        end = self._read().not_valid_after_utc
        left = end - (now or datetime.now(UTC))
        if left > _SOON:
            return None
        said = f"ends at {end:%Y-%m-%d %H:%M} UTC" if left > timedelta(0) else f"ended at {end:%Y-%m-%d %H:%M} UTC"
        return f"The certificate {self.file} {said}: renew it. The new one is taken within a minute, without a restart."

    def _read(self) -> Certified:
        from cryptography import x509

        return x509.load_pem_x509_certificate(self.file.read_bytes())
