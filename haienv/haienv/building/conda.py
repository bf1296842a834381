"""Environments of conda's flavour: packages of channels by py-rattler, and the rest by uv."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from haienv.building import abi, programs
from haienv.building.interpreters import OLDEST, Interpreter
from haienv.building.uv import FOREIGN, reason
from haienv.shared import space
from haienv.shared.errors import BuildFailed, NoSpace, Wrong
from haienv.shared.masking import masked
from haienv.store import lockfile
from haienv.store.conda_spec import name_of, parts, platform_here
from haienv.store.layout import Generation
from haienv.store.spec import normal

#: What stands among channels to say that conda adds none of its own, as is so here anyway.
NONE = "nodefaults"
_UNREACHED = re.compile(r"error sending request|tcp connect|dns error|timed out", re.IGNORECASE)
_NO_CANDIDATE = re.compile(r"[Nn]o candidates were found")
_VERSION = re.compile(r"\d+(\.\d+)*")


@dataclass(frozen=True, kw_only=True)
class Conda:
    """Installs packages of conda.

    Args:
        environ: The variables of its process.
        cache: The builder's folder of packages.
        log: The file that all output is appended to.
        show: Called with each line of progress.
    """

    environ: Mapping[str, str]
    cache: Path
    log: Path
    show: Callable[[str], None]

    def install(self, prefix: Path, specs: Sequence[str], channels: Sequence[str]) -> str:
        """Make an environment.

        Args:
            prefix: Its folder, which does not exist.
            specs: Match specifications of its packages.
            channels: Addresses of channels; the first one that has a package counts.

        Returns:
            The lines of these packages in the lock file.

        Raises:
            BuildFailed: They cannot be had together, or not be fetched.
            Wrong: What is needed to install them is missing here.
        """
        if find_spec("rattler") is None:
            raise Wrong("conda packages are installed by py-rattler, which is missing: pip install 'hai-env[conda]'")
        if not channels:
            raise Wrong("channels: none is named; write `channels: [conda-forge]` into the environment.yml")
        asked = {
            "channels": list(channels), "specs": list(specs), "platform": platform_here(), "prefix": str(prefix),
            "cache": str(self.cache),
        }  # fmt: skip
        self.show("solving")
        answer = self._run(json.dumps(asked))
        return "".join(_line(one) for one in answer)

    def _run(self, asked: str) -> list[dict[str, str]]:
        kept = {name: value for name, value in self.environ.items() if name not in FOREIGN}
        # The process finds this package where we have it from.
        env = {**kept, "PYTHONPATH": str(Path(__file__).parents[2])}
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"$ conda_worker {masked(asked)}\n")
            log.flush()
            status, out, err = programs.run(
                [sys.executable, "-m", "haienv.building.conda_worker"], env=env, stdin=asked, log=log, seen=self._seen
            )
        if status != 0:
            kind = NoSpace if space.says_full(err) else BuildFailed
            raise kind(f"conda could not make an environment of these packages: {reason(err)}\n  {_remedy(err)}")
        found = json.loads(out)
        assert isinstance(found, list)
        return found

    def _seen(self, line: str) -> None:
        if line.startswith(("Solved", "Installed")):
            self.show(line)


def _remedy(text: str) -> str:
    """Return what to change about an error of the worker."""
    if _UNREACHED.search(text):
        return "the channel does not answer: `haienv config show` has the proxy; try again when it does"
    if _NO_CANDIDATE.search(text):
        return (
            "no channel has it for this platform: change the version, or add a channel that has it; builds of an"
            " exported file are for one platform: `conda env export --no-builds` or `--from-history` leaves them out"
        )
    return "change what environment.yml asks for, or add a channel that has it"


def _line(one: Mapping[str, str]) -> str:
    digest = f" sha256:{one['sha256']}" if one["sha256"] else ""
    return f"{lockfile.CONDA}{one['name']} {one['version']} {one['build']} {masked(one['url'])}{digest}\n"


def specs_of(conda: Sequence[str], python: str | None, *, needs_python: bool) -> list[str]:
    """Return the match specifications to solve: those of the user, with a Python where one is needed.

    Args:
        conda: What the user asks for.
        python: The version that the user chose by -p; None: none.
        needs_python: Whether there are packages of pip or a kernel.

    Raises:
        Wrong: -p is not a version.
    """
    found = list(conda)
    has = any(name_of(one) == "python" for one in found)
    if python is not None:
        if not _VERSION.fullmatch(python):
            raise Wrong(f"python: {python!r} is not a version; conda brings its own Python: write for example -p 3.11")
        found.append(f"python={python}")
    elif needs_python and not has:
        found.append(f"python >={OLDEST[0]}.{OLDEST[1]}")
    return found


def placed(asked: Sequence[str], address: Callable[[str], str]) -> tuple[list[str], list[str]]:
    """Return match specifications with the addresses of the channels that they name, and these addresses.

    Args:
        asked: The specifications.
        address: Returns the address of a channel, which may be a mirror of the site. May raise Wrong.
    """
    found = [parts(one) for one in asked]
    return [one.at(address) for one in found], [address(one.channel) for one in found if one.channel]


def interpreter(generation: Generation) -> Interpreter:
    """Return the Python of an environment that was installed. Raises Wrong."""
    for one in abi.conda_packages(generation.prefix):
        if one.get("name") == "python":
            version = re.match(r"\d+\.\d+(?:\.\d+)?", str(one.get("version")))
            if version and tuple(map(int, version[0].split(".")[:2])) >= OLDEST:
                return Interpreter(version[0], str(generation.python), "CPython", inside=True)
            raise Wrong(f"python: conda has chosen {one.get('version')}; haienv needs 3.8 or newer: give -p 3.12")
    raise Wrong("python: no package of conda brings it; add `- python=3.11` to the dependencies of environment.yml")


def provided(prefix: Path) -> dict[str, str]:
    """Return the versions of the Python packages that conda has installed, by package. uv does not replace these."""
    found = {}
    for folder in abi.site_packages(prefix):
        for info in os.listdir(folder):
            match = re.fullmatch(r"(.+)-([^-]+)\.dist-info", info)
            if match:
                found[normal(match[1])] = match[2]
    return found
