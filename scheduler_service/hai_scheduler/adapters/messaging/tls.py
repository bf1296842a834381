"""TLS to mail servers and webhooks."""

from __future__ import annotations

import ssl
from pathlib import Path


def tls_of(ca_file: Path | None) -> ssl.SSLContext:
    """Return what checks certificates and names, by the system's authorities and those of the file.

    Raises:
        OSError: The file cannot be read, or holds no certificate.
    """
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca_file is not None:
        context.load_verify_locations(cafile=str(ca_file))
    return context
