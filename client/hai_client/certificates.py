"""Certificates of servers that speak TLS themselves: load one with its key, and say in words what is wrong with it."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

_OTHERS = 0o007


class CertificateError(ValueError):
    """A certificate or its key cannot be used; the text names the file and the remedy."""


def serving(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return what serves TLS with a certificate: a file in PEM, with the certificates of its authorities behind it.

    Args:
        certificate: The file.
        key: Its private key, in PEM and without a passphrase.

    Raises:
        CertificateError: A file cannot be read, all accounts can read the key, or the two do not belong together.
    """
    for what, file in (("certificate", certificate), ("key", key)):
        try:
            with file.open("rb") as opened:
                mode = os.fstat(opened.fileno()).st_mode
        except OSError as error:
            raise CertificateError(f"the {what} {file} cannot be read: {error.strerror}") from error
        if what == "key" and mode & _OTHERS:
            raise CertificateError(f"all accounts can use the key {file}: chmod 600 {file}")

    def no_passphrase() -> str:
        raise CertificateError(f"the key {file} has a passphrase; write it without: openssl pkey -in {file} -out NEW")

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(str(certificate), str(key), no_passphrase)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            message = (
                f"the key {key} is not the one of the certificate {certificate}; name two files of one certificate"
            )
            raise CertificateError(message) from error
        message = (
            f"{certificate} and {key} are not a certificate and its private key in PEM ({error.reason or 'unreadable'})"
        )
        raise CertificateError(message) from error
    return context
