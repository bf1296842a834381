"""Build the images with buildah or docker: `make images ARGS="hub init --archive build/images"`.

Everything that an image gets is fetched out here, with the pip and npm that are set up here, and handed over as the
build's context: no Dockerfile needs a network, and no setting of this machine lands in an image. Wheels of others are
those that requirements.lock names, with the hashes that it names.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent))
import archives
import licences
import locked

from hai_hub.cluster.images import as_values

ROOT: Final = Path(__file__).resolve().parents[2]
HERE: Final = Path(__file__).resolve().parent
CONTEXTS: Final = ROOT / "build" / "images"
#: Extras of HAI's package that the images have.
HUB: Final = "hub,kubernetes,kubespawner,logins,notify,postgres,redis,scheduler"
USER: Final = "env,lab,notebook"
#: Folders of HAI's own packages that both have.
OURS: Final = ("client", "client/slurm", "haienv", "")
#: A requirement of redis on Python before 3.11.3: the image's Python, of Debian 12, may be older than the Python here.
OLDER_PYTHON: Final = "async-timeout>=5,<6"
#: Where the page is in the wheel.
IN_WHEEL: Final = ".data/data/share/hai/page/"
_PIP: Final = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps")


class BuildError(Exception):
    """An image could not be built; the text says why in one sentence."""


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a program. Raises BuildError."""
    words = [str(word) for word in command]
    own_bin = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": f"{own_bin}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    if status := subprocess.run(words, cwd=cwd, env=environment, check=False).returncode:
        raise BuildError(f"`{' '.join(words)}` ended with status {status}")


def wheels(context: Path, asked: Iterable[str], *ours: Path) -> None:
    """Put all wheels that these requirements need into `wheels`, and HAI's own into `ours`, a layer that changes often.

    Raises BuildError.
    """
    file = context / "locked.txt"
    try:
        file.write_text(locked.locked(asked))
    except locked.NotLocked as error:
        raise BuildError(str(error)) from None
    run(*_PIP, "--require-hashes", "--only-binary", ":all:", "-w", context / "wheels", "-r", file)
    for folder in ours:
        run(*_PIP, "--no-build-isolation", "-w", context / "ours", folder)


def hub(context: Path) -> None:
    """Fill the build context of the image of Hub and scheduler."""
    wheels(context, [f"hai-platform[{HUB}]", OLDER_PYTHON], *(ROOT / one for one in OURS))
    page(context)


def page(context: Path) -> None:
    """Put the page of the service into `page`, out of the wheel `hai-lab`: the image needs nothing else of that.

    Raises BuildError.
    """
    made = context / "lab"
    run(*_PIP, "--no-build-isolation", "-w", made, ROOT / "lab_extension")
    (wheel,) = made.glob("hai_lab-*.whl")
    (context / "page").mkdir()
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if IN_WHEEL in name:
                (context / "page" / Path(name).name).write_bytes(archive.read(name))
    shutil.rmtree(made)
    if not (context / "page" / "index.html").is_file():
        raise BuildError(f"{wheel.name} has no page: lab_extension was built with HAI_LAB_SKIP_BUILD")


def singleuser(context: Path) -> None:
    """Fill the build context of the image of users' JupyterLab servers."""
    wheels(
        context,
        [f"hai-platform[{USER}]", "jupyterhub"],
        *(ROOT / one for one in (*OURS, "lab_extension")),
    )


def init(context: Path) -> None:
    """Fill the build context of the init image, which brings the rank supervisor."""
    run(sys.executable, "-m", "hai_client.archive", context / "hai.pyz", cwd=ROOT / "client")


def proxy(context: Path) -> None:
    """Fill the build context of the proxy's image."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / "proxy" / name, context / name)
    run("npm", "ci", "--silent", "--no-audit", "--no-fund", "--omit=dev", cwd=context)


def task(context: Path) -> None:
    """Fill the build context of the image for tasks, which holds nothing of HAI."""


IMAGES: Final[dict[str, Callable[[Path], None]]] = {
    "hub": hub,
    "init": init,
    "proxy": proxy,
    "singleuser": singleuser,
    "task": task,
}


def settle(context: Path) -> None:
    """Give all files the same time, and modes that do not depend on this checkout's.

    Equal files make an equal layer, which is not built again; and users of a container read them, whatever the umask
    here was.
    """
    for path in [*context.rglob("*"), context]:
        os.utime(path, (0, 0), follow_symlinks=False)
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def version() -> str:
    """Return the version of the chart, which is the default tag of the images."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def find_tool(name: str | None) -> str:
    """Return the program that builds images. Raises BuildError if there is none."""
    for candidate in [name] if name else ["buildah", "docker"]:
        if candidate and shutil.which(candidate):
            return candidate
    raise BuildError(
        f"{name or 'neither buildah nor docker'} is not there: install one, on Debian `apt install buildah`"
    )


def build(tool: str, name: str, words: argparse.Namespace) -> str:
    """Build one image and return its whole name. Raises BuildError."""
    context = CONTEXTS / name
    shutil.rmtree(context, ignore_errors=True)
    context.mkdir(parents=True)
    IMAGES[name](context)
    if wrong := licences.refused(licences.packages(context)):
        raise BuildError("; ".join(wrong))
    settle(context)
    whole = f"{words.registry + '/' if words.registry else ''}hai-{name}:{words.tag}"
    bases = dict(pair.split("=", 1) for pair in words.base)
    options = [f"--build-arg=BASE={bases[name]}"] if name in bases else []
    # chroot: it works in a container and needs no network.
    options += ["--isolation=chroot"] if tool == "buildah" else []
    if words.timestamp is not None:
        # No layer of an earlier build: it may have been made otherwise.
        options += ["--no-cache", f"--timestamp={words.timestamp}", f"--build-arg=SOURCE_DATE_EPOCH={words.timestamp}"]
    elif tool == "buildah":
        options.append("--layers")
    run(tool, "build", *options, "--file", HERE / name / "Dockerfile", "--tag", whole, context)
    if words.archive is not None:
        save(tool, whole, words.archive.resolve() / f"hai-{name}.tar")
    if words.oci is not None:
        save_oci(whole, words.oci.resolve() / f"hai-{name}.oci.tar", words.timestamp or 0)
    return whole


def save_oci(image: str, file: Path, time: int) -> None:
    """Write the image to an OCI archive, whose bytes are those of the image alone."""
    layout = CONTEXTS / "layout"
    shutil.rmtree(layout, ignore_errors=True)
    run("buildah", "push", "--quiet", "--format", "oci", image, f"oci:{layout}:{image.rpartition('/')[2]}")
    file.parent.mkdir(parents=True, exist_ok=True)
    archives.pack(layout, file, time=time)
    shutil.rmtree(layout)


def save(tool: str, image: str, file: Path) -> None:
    """Write the image to a file that `ctr images import` reads."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    if tool == "buildah":
        run(tool, "push", "--quiet", image, f"docker-archive:{file}:{image}")
    else:
        run(tool, "save", "--output", file, image)


def push(tool: str, image: str) -> str:
    """Push the image to its registry; returns its digest there. Raises BuildError."""
    if tool == "buildah":
        file = CONTEXTS / "digest"
        run(tool, "push", "--quiet", "--digestfile", file, image)
        found = file.read_text().strip()
    else:
        run(tool, "push", "--quiet", image)
        asked = [tool, "image", "inspect", "--format", "{{json .RepoDigests}}", image]
        said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
        name = image.rpartition(":")[0]
        found = next((text.partition("@")[2] for text in json.loads(said or "[]") if text.startswith(f"{name}@")), "")
    if not found.startswith("sha256:"):
        raise BuildError(f"{tool} pushed {image} and does not say by which digest: ask the registry for it")
    return found


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse the arguments."""
    parser = argparse.ArgumentParser(prog="make images", description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("images", nargs="*", choices=[[], *IMAGES], help="which ones; all, if none is named")
    parser.add_argument("--tool", help="buildah or docker; the first that is there")
    parser.add_argument("--registry", default="", help="registry and path in front of the names")
    parser.add_argument("--tag", default=version(), help="tag; the version, if none is given")
    parser.add_argument(
        "--base",
        action="append",
        default=[],
        metavar="IMAGE=BASE",
        help="another base for an image, such as hub=mine:1",
    )
    parser.add_argument(
        "--push", action="store_true", help="push each image, and print the digests as values of the chart"
    )
    parser.add_argument("--archive", type=Path, metavar="DIR", help="write each image to a file there as well")
    parser.add_argument("--oci", type=Path, metavar="DIR", help="write each image to an OCI archive there as well")
    parser.add_argument(
        "--timestamp",
        type=int,
        metavar="SECONDS",
        help="build without former layers, to the same bytes each time: everything is of this time",
    )
    words = parser.parse_args(argv)
    if words.push and not words.registry:
        parser.error("--push: name the registry to push to, --registry registry.example.org/hai")
    return words


def main(argv: list[str]) -> int:
    """Build the images of the command line; returns the exit code, 1 with one line of error."""
    words = parse(argv)
    # What a Dockerfile makes is read by users, too.
    os.umask(0o022)
    try:
        tool = find_tool(words.tool)
        if tool != "buildah" and (words.oci is not None or words.timestamp is not None):
            raise BuildError(f"--oci and --timestamp need buildah, and not {tool}: on Debian `apt install buildah`")
        if words.timestamp is not None:
            os.environ["SOURCE_DATE_EPOCH"] = str(words.timestamp)
        digests: dict[str, str] = {}
        for name in words.images or IMAGES:
            whole = build(tool, name, words)
            print(f"built {whole}", flush=True)
            if words.push:
                digests[name] = push(tool, whole)
        if digests:
            values = json.dumps(as_values(digests), indent=2)
            print(f"pushed; write this into values.yaml, and no tag matters any more:\n{values}")
    except BuildError as error:
        print(f"make images: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
