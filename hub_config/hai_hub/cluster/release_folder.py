"""The folder of a release: every file in it is one that `SHA256SUMS` names, with the bytes that it names.

Who signed the sums signed all of them. `SHA256SUMS` and its signature are read once, and what is used later is what was
checked: small files are returned as they were read, and an image is pushed under the digest that a checked file names.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hai_client.errors import HaiError, Invalid
from hai_hub.cluster.images import VALUES

SUMS: Final = "SHA256SUMS"
SIGNATURE: Final = "SHA256SUMS.sig"
DIGESTS: Final = "digests.json"
#: What a signature is for, and who signs: ssh-keygen compares both.
NAMESPACE: Final = "hai-release"
SIGNER: Final = "release@hai"
#: The project's public keys, as `ssh-keygen -Y verify` reads them.
ALLOWED: Final = Path(__file__).with_name("allowed_signers")
#: Most bytes of a file that is read whole.
_WHOLE: Final = 1 << 20
_CHUNK: Final = 1 << 20
_LINE: Final = re.compile(r"([0-9a-f]{64})  ([A-Za-z0-9][A-Za-z0-9._+-]{0,199})")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_VERSION: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]{0,39}")


@dataclass(frozen=True, slots=True)
class ReleaseFolder:
    """A release whose files were checked."""

    folder: Path
    version: str
    images: Mapping[str, str]  #: Digests of the images' manifests, by the images' names.

    def archive(self, image: str) -> Path:
        """Return the file of an image, an OCI archive."""
        return self.folder / archive_name(image)


def archive_name(image: str) -> str:
    """Return the name of the file with an image."""
    return f"hai-{image}.oci.tar"


def checked(folder: Path, *, signers: Path | None = None, unsigned: bool = False) -> ReleaseFolder:
    """Return the release in a folder, after a look at every byte of it.

    Args:
        folder: The folder, as `make release` has written it.
        signers: Whose signature counts: a file for `ssh-keygen -Y verify` (default: the project's keys).
        unsigned: Do not ask who signed it.

    Raises:
        Invalid: A file is missing, is not named, is changed or is no file; or the signature is missing or wrong.
        HaiError: A file cannot be read.
    """
    if not os.path.lexists(folder / SUMS):
        raise Invalid(f"{folder}: no folder of a release, which has a {SUMS}: name the one that `make release` printed")
    sums = _read(folder, SUMS)
    if not unsigned:
        _verify(folder, sums, signers)
    named = _named(sums, folder)
    beside = {SUMS, SIGNATURE}
    there = set(_names(folder)) - beside
    if missing := sorted(named.keys() - there):
        raise Invalid(f"{folder}: {_some(missing)} not there, and {SUMS} names it: copy the release again")
    if more := sorted(there - named.keys()):
        raise Invalid(
            f"{folder}: {_some(more)} there, and {SUMS} does not name it: remove it, or copy the release again"
        )
    for name, digest in named.items():
        if _digest(folder, name) != digest:
            raise _changed(folder, name)
    if DIGESTS not in named:
        raise Invalid(f"{folder}: {SUMS} names no {DIGESTS}: this is no release of HAI")
    said = _read(folder, DIGESTS)
    if hashlib.sha256(said).hexdigest() != named[DIGESTS]:
        raise _changed(folder, DIGESTS)
    version, images = _digests(said, folder)
    if missing := sorted({archive_name(image) for image in images} - named.keys()):
        raise Invalid(f"{folder}: {SUMS} does not name {_some(missing)}, and {DIGESTS} does: this is no release of HAI")
    return ReleaseFolder(folder, version, images)


def _named(sums: bytes, folder: Path) -> dict[str, str]:
    """Return the digests by names. A name has no slash and no dot in front, so that it is a file of the folder."""
    try:
        text = sums.decode("ascii")
    except UnicodeDecodeError:
        raise Invalid(f"{folder / SUMS}: not in ASCII: this is no release of HAI") from None
    named: dict[str, str] = {}
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        found = _LINE.fullmatch(line)
        if found is None or found[2] in named or found[2] in (SUMS, SIGNATURE):
            raise Invalid(
                f"{folder / SUMS}: line {number} is not `SHA-256  NAME` of another file: this is no release of HAI"
            )
        named[found[2]] = found[1]
    return named


def _digests(said: bytes, folder: Path) -> tuple[str, Mapping[str, str]]:
    try:
        found: Any = json.loads(said)
        version, images = found["version"], found["images"]
        right = _VERSION.fullmatch(version) and all(_DIGEST.fullmatch(digest) for digest in images.values())
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        right = None
    if not right or not images.keys() <= VALUES.keys():
        raise Invalid(
            f"{folder / DIGESTS}: not a version, and the digests of images that this hai knows: "
            "use the hai of the release's version"
        )
    return version, images


def _verify(folder: Path, sums: bytes, signers: Path | None) -> None:
    if not os.path.lexists(folder / SIGNATURE):
        raise Invalid(
            f"{folder}: {SIGNATURE} is not there, so nobody says whose release this is: ask for it, or say --unsigned"
        )
    allowed = signers or ALLOWED
    try:
        keys = [line for line in allowed.read_text(encoding="utf-8").splitlines() if line.strip() and line[0] != "#"]
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"--signers: {allowed} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not keys:
        named = f"{allowed} has no key" if signers else "this hai knows no key of the project"
        raise Invalid(f"--signers: {named}: name a file with a line `{SIGNER} ssh-ed25519 AAAA...`, or say --unsigned")
    if (program := shutil.which("ssh-keygen")) is None:
        raise Invalid("ssh-keygen is not on PATH: install OpenSSH 8.2 or newer, on Debian `apt install openssh-client`")
    with tempfile.TemporaryDirectory() as scratch:
        signature = Path(scratch) / SIGNATURE
        signature.write_bytes(_armoured(folder))
        words = ["-Y", "verify", "-f", str(allowed.absolute()), "-I", SIGNER, "-n", NAMESPACE, "-s", str(signature)]
        done = subprocess.run([program, *words], input=sums, capture_output=True, check=False)
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split() or done.stdout.decode(errors="replace").split())
        raise Invalid(
            f"{folder / SIGNATURE}: not a signature of {SUMS} by a key of {allowed}: do not use these files, and ask "
            f"those who sent them ({said[:200]})"
        )


def _armoured(folder: Path) -> bytes:
    """Return the signature, to the byte as ssh-keygen writes it: that would read other spellings, too."""
    said = _read(folder, SIGNATURE)
    first, last = b"-----BEGIN SSH SIGNATURE-----\n", b"-----END SSH SIGNATURE-----\n"
    try:
        text = base64.b64encode(base64.b64decode(said.removeprefix(first).removesuffix(last)))
    except binascii.Error:
        text = b""
    lines = b"".join(text[start : start + 70] + b"\n" for start in range(0, len(text), 70))
    if said != first + lines + last:
        raise Invalid(f"{folder / SIGNATURE}: not as ssh-keygen writes a signature: copy the release again")
    return said


def _names(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except OSError as error:
        raise Invalid(f"{folder} cannot be read: {error.strerror}") from None


def _open(folder: Path, name: str) -> int:
    """Open a plain file of the folder itself: no link leads out of it, and no pipe is waited for."""
    try:
        descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Invalid(f"{folder / name} cannot be read: {error.strerror}: copy the release again") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Invalid(f"{folder / name}: not a plain file: copy the release again")
    return descriptor


def _read(folder: Path, name: str) -> bytes:
    with os.fdopen(_open(folder, name), "rb") as file:
        data = file.read(_WHOLE + 1)
    if len(data) > _WHOLE:
        raise Invalid(f"{folder / name}: larger than {_WHOLE} bytes: this is no release of HAI")
    return data


def _digest(folder: Path, name: str) -> str:
    found = hashlib.sha256()
    try:
        with os.fdopen(_open(folder, name), "rb") as file:
            while chunk := file.read(_CHUNK):
                found.update(chunk)
    except OSError as error:
        raise HaiError(f"{folder / name} cannot be read: {error.strerror}") from None
    return found.hexdigest()


def _changed(folder: Path, name: str) -> Invalid:
    return Invalid(f"{folder / name}: not the bytes that {SUMS} names: copy the release again, and ask if it stays so")


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    shown = ascii(names[0])[1:-1]
    return f"{shown}{more} {'are' if more else 'is'}"
