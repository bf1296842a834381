"""`hai cluster load`: take a release to a cluster without internet.

The folder is checked, its images are pushed to a registry there, and their digests are written as values of the chart.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import tempfile
from pathlib import Path
from typing import Final

from hai_client.cli.shared.context import Context
from hai_client.cli.shared.parser import option
from hai_client.errors import HaiError, Invalid
from hai_client.version import __version__
from hai_client.whole_files import write_whole
from hai_hub.cluster.helm import run_program
from hai_hub.cluster.images import as_values
from hai_hub.cluster.release_folder import ReleaseFolder, checked

ABOUT: Final = "check a release's files, push its images to a registry, and print their digests as values"
#: registry.example.org:5000/path: as names of images begin. No part begins with a dash or a dot.
_PART: Final = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*"
_REGISTRY: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9.-]{{0,252}}(?::[0-9]{{1,5}})?(?:/{_PART}){{0,16}}")


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    option(parser, "folder FOLDER", "folder of the release, with its SHA256SUMS")
    option(parser, "--registry R", "registry and path to push to: registry.example.org/hai", required=True)
    option(parser, "--out FILE", "write the values there, and not to the screen")
    option(parser, "--signers FILE", "public keys whose signature counts (default: the project's)")
    option(parser, "--unsigned", "do not ask who has signed the release")
    option(parser, "--plain-http", "the registry speaks HTTP, or its certificate is of no authority")


def load(args: argparse.Namespace, context: Context) -> int:
    """Do what the verb says; returns the exit code.

    Raises:
        Invalid: Something of the command line or of the folder is wrong, or a program is missing.
        HaiError: The registry does not take an image.
    """
    registry = args.registry.rstrip("/")
    if not _REGISTRY.fullmatch(registry):
        raise Invalid(f"--registry: {args.registry!r} is no name of a registry: write registry.example.org/hai")
    folder = Path(args.folder)
    context.out.note(f"Checking {folder}")
    release = checked(folder, signers=Path(args.signers) if args.signers else None, unsigned=args.unsigned)
    if not release.images:
        raise Invalid(f"{folder}: a release without images: make it with them, or ask for that one")
    for image in release.images:
        context.out.note(f"Pushing {registry}/hai-{image}:{release.version}")
        _push(release, image, registry, plain=args.plain_http)
    values = json.dumps({"imageRegistry": registry, **as_values(release.images)}, indent=2)
    if args.out:
        _write(Path(args.out), values)
    else:
        context.out.line(values)
    context.out.note(f"Next: {_next(release, args.out or 'images.yaml')}")
    return 0


def _push(release: ReleaseFolder, image: str, registry: str, *, plain: bool) -> None:
    """Push the image. What was pushed is what was checked, as its digest says: the file may have changed since."""
    # skopeo reads a colon as the beginning of a tag.
    where = release.archive(image).absolute()
    if ":" in str(where):
        raise Invalid(f"{release.folder}: skopeo reads no path with a colon: move the folder")
    with tempfile.TemporaryDirectory() as scratch:
        said = Path(scratch) / "digest"
        words = ["copy", "--quiet", "--preserve-digests", "--retry-times", "3", "--digestfile", str(said)]
        words += ["--dest-tls-verify=false"] if plain else []
        target = f"docker://{registry}/hai-{image}:{release.version.replace('+', '-')}"
        try:
            run_program(
                "skopeo", "install it, on Debian `apt install skopeo`", [*words, f"oci-archive:{where}", target]
            )
        except Invalid:
            raise
        except HaiError as error:
            # Before the last attempt skopeo tells of the others.
            why = error.message.rpartition("level=fatal msg=")[2]
            raise HaiError(
                f"--registry: {registry} does not take hai-{image}: {why}; look at its name, and whether "
                f"`skopeo login {registry.partition('/')[0]}` lets you push"
            ) from None
        pushed = said.read_text(encoding="ascii").strip()
    if pushed != release.images[image]:
        raise HaiError(
            f"{where}: holds {pushed}, and not {release.images[image]}, which the release names: it was changed "
            "meanwhile. Do not use what was pushed; copy the release again"
        )


def _write(file: Path, values: str) -> None:
    try:
        write_whole(file, values + "\n", mode=0o666)
    except OSError as error:
        raise HaiError(f"--out: {file} cannot be written: {error.strerror}; the images are pushed") from None


def _next(release: ReleaseFolder, values: str) -> str:
    """Return the command that installs it: with the chart of this program where that is the release's own."""
    files = f"-f values.yaml -f {shlex.quote(values)}"
    if release.version == __version__:
        return f"hai cluster up {files}"
    chart = shlex.quote(str(next(iter(sorted(release.folder.glob("hai-*.tgz"))), release.folder / "hai.tgz")))
    return f"helm upgrade --install hai {chart} -n hai --create-namespace {files}"
