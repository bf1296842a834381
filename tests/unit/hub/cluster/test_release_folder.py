"""The folder of a release is taken only if each byte is one that was signed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hai_client.errors import Invalid
from hai_hub.cluster.release_folder import ALLOWED, NAMESPACE, SIGNER, checked

DIGEST = f"sha256:{'a' * 64}"
pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A private key; the file beside it allows it."""
    path = tmp_path_factory.mktemp("keys") / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "a test", "-f", str(path)], check=True)
    path.with_name("allowed").write_text(f"# ours\n{SIGNER} {path.with_suffix('.pub').read_text()}")
    return path


def sum_up(folder: Path) -> None:
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("SHA256SUMS"))
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / "SHA256SUMS").write_text("".join(lines))


def sign(folder: Path, key: Path, namespace: str = NAMESPACE) -> None:
    (folder / "SHA256SUMS.sig").unlink(missing_ok=True)
    words = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", namespace, str(folder / "SHA256SUMS")]
    subprocess.run(words, check=True, capture_output=True)


@pytest.fixture
def release(tmp_path: Path, key: Path) -> Path:
    folder = tmp_path / "0.3.0"
    folder.mkdir()
    (folder / "digests.json").write_text(json.dumps({"version": "0.3.0", "images": {"hub": DIGEST}}))
    (folder / "hai-hub.oci.tar").write_bytes(os.urandom(3000))
    (folder / "hai-0.3.0.tgz").write_bytes(b"chart")
    sum_up(folder)
    sign(folder, key)
    return folder


def test_what_was_signed_is_taken(release: Path, key: Path) -> None:
    found = checked(release, signers=key.with_name("allowed"))
    assert (found.version, found.images) == ("0.3.0", {"hub": DIGEST})
    assert found.archive("hub") == release / "hai-hub.oci.tar"


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("name", ["SHA256SUMS", "SHA256SUMS.sig", "digests.json", "hai-hub.oci.tar", "hai-0.3.0.tgz"])
@pytest.mark.parametrize("where", [0, 0.5, 1], ids=["first", "middle", "last"])
def test_a_changed_byte_is_refused(release: Path, key: Path, name: str, where: float, unsigned: bool) -> None:
    data = bytearray((release / name).read_bytes())
    place = int(where * (len(data) - 1))
    data[place] ^= 1
    (release / name).write_bytes(data)
    if unsigned and name.endswith(".sig"):
        return
    with pytest.raises(Invalid, match=name.removesuffix(".sig")):
        checked(release, signers=key.with_name("allowed"), unsigned=unsigned)


def cut(folder: Path) -> None:
    with (folder / "hai-hub.oci.tar").open("r+b") as file:
        file.truncate(2999)


def lengthen(folder: Path) -> None:
    with (folder / "hai-hub.oci.tar").open("ab") as file:
        file.write(b"\0")


def swap(folder: Path) -> None:
    (folder / "hai-hub.oci.tar").rename(folder / "x")
    (folder / "hai-0.3.0.tgz").rename(folder / "hai-hub.oci.tar")
    (folder / "x").rename(folder / "hai-0.3.0.tgz")


def link(folder: Path) -> None:
    """To the very same bytes, which may be others a moment later."""
    (folder / "hai-hub.oci.tar").rename(folder.parent / "elsewhere")
    (folder / "hai-hub.oci.tar").symlink_to(folder.parent / "elsewhere")


def pipe(folder: Path) -> None:
    (folder / "hai-hub.oci.tar").unlink()
    os.mkfifo(folder / "hai-hub.oci.tar")


def turn_into_folder(folder: Path) -> None:
    (folder / "hai-hub.oci.tar").unlink()
    (folder / "hai-hub.oci.tar").mkdir()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "hai-0.3.0.tgz").unlink(), r"hai-0\.3\.0\.tgz is not there, and SHA256SUMS names it"),
        (
            lambda folder: (folder / "SHA256SUMS").unlink(),
            "no folder of a release, which has a SHA256SUMS: name the one that `make release` printed",
        ),
        (lambda folder: (folder / "SHA256SUMS.sig").unlink(), "nobody says whose release this is"),
        (lambda folder: (folder / "more").touch(), "more is there, and SHA256SUMS does not name it"),
        (lambda folder: (folder / ".hidden").touch(), r"\.hidden is there"),
        (lambda folder: (folder / "a\nb").touch(), r"a\\nb is there"),
        (lambda folder: (folder / "\x1b[2J").touch(), r"\\x1b\[2J is there"),
        (lambda folder: (folder / "sub").mkdir(), "sub is there"),
        (cut, "not the bytes"),
        (lengthen, "not the bytes"),
        (swap, "not the bytes"),
        (link, "Too many levels of symbolic links"),
        (pipe, "not a plain file"),
        (turn_into_folder, "not a plain file"),
    ],
)
def test_other_files_are_refused(release: Path, key: Path, change: Callable[[Path], None], said: str) -> None:
    change(release)
    with pytest.raises(Invalid, match=said):
        checked(release, signers=key.with_name("allowed"))


@pytest.mark.parametrize(
    "line",
    [
        "0  hai-0.3.0.tgz",
        f"{'0' * 64}  ../hai-0.3.0.tgz",
        f"{'0' * 64}  /etc/passwd",
        f"{'0' * 64}  sub/file",
        f"{'0' * 64}  .hidden",
        f"{'0' * 64}  -rf",
        f"{'0' * 64}  a b",
        f"{'0' * 64}  a\rb",
        f"{'0' * 64}  \x1b[2J",
        f"{'0' * 64}  {'a' * 300}",
        f"{'0' * 64} *hai-hub.oci.tar",
        f"\\{'0' * 64}  a\\nb",
        f"{'0' * 64}  SHA256SUMS",
        f"{'0' * 64}  hai-hub.oci.tar",
        "",
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_line_that_names_no_file_of_the_folder_is_refused(release: Path, key: Path, line: str, first: bool) -> None:
    file = release / "SHA256SUMS"
    text = file.read_bytes().decode()
    file.write_bytes((f"{line}\n{text}" if first else f"{text}{line}\n").encode())
    # Signed, even: a key that leaked leads to no file elsewhere.
    sign(release, key)
    with pytest.raises(Invalid, match=r"SHA256SUMS: line \d is not"):
        checked(release, signers=key.with_name("allowed"))


@pytest.mark.parametrize(
    "said",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        '{"version": "0.3.0", "images": []}',
        '{"version": "../x", "images": {}}',
        '{"version": 3, "images": {}}',
        '{"version": "0.3.0", "images": {"hub": "sha256:1"}}',
        '{"version": "0.3.0", "images": {"hub": 1}}',
        f'{{"version": "0.3.0", "images": {{"../hub": "{DIGEST}"}}}}',
        f'{{"version": "0.3.0", "images": {{"other": "{DIGEST}"}}}}',
        f'{{"version": "0.3.0", "images": {{"task": "{DIGEST}"}}}}',
    ],
)
def test_digests_that_say_something_else_are_refused(release: Path, key: Path, said: str) -> None:
    (release / "digests.json").write_text(said)
    sum_up(release)
    sign(release, key)
    with pytest.raises(Invalid, match=r"digests\.json"):
        checked(release, signers=key.with_name("allowed"))


def test_a_file_of_sums_is_read_to_a_limit(release: Path, key: Path) -> None:
    (release / "SHA256SUMS").write_bytes(b"a" * ((1 << 20) + 1))
    with pytest.raises(Invalid, match="larger than 1048576 bytes"):
        checked(release, unsigned=True)


def test_a_signature_of_another_key_or_for_something_else_is_none(release: Path, key: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    sign(release, other)
    with pytest.raises(Invalid, match="not a signature of SHA256SUMS by a key of"):
        checked(release, signers=key.with_name("allowed"))
    sign(release, key, namespace="git")
    with pytest.raises(Invalid, match="not a signature of SHA256SUMS by a key of"):
        checked(release, signers=key.with_name("allowed"))
    someone = tmp_path / "someone"
    someone.write_text(key.with_name("allowed").read_text().replace(SIGNER, "someone@else"))
    sign(release, key)
    with pytest.raises(Invalid, match="not a signature of SHA256SUMS by a key of"):
        checked(release, signers=someone)


def test_who_signs_must_be_said(release: Path, tmp_path: Path) -> None:
    for empty in ("", "# nobody\n\n"):
        (tmp_path / "keys").write_text(empty)
        with pytest.raises(Invalid, match=r"--signers: .*keys has no key: name a file"):
            checked(release, signers=tmp_path / "keys")
    with pytest.raises(Invalid, match=r"--signers: .*none cannot be read: No such file"):
        checked(release, signers=tmp_path / "none")
    keys = [line for line in ALLOWED.read_text().splitlines() if not line.startswith("#")]
    assert all(line.startswith(f"{SIGNER} ") for line in keys)


def test_an_unsigned_release_is_taken_where_that_is_said(release: Path) -> None:
    (release / "SHA256SUMS.sig").unlink()
    assert checked(release, unsigned=True).version == "0.3.0"
