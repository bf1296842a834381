"""Runs uv, which resolves and installs packages."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from haienv.building import programs
from haienv.shared import space
from haienv.shared.errors import BuildFailed, NoSpace, Wrong
from haienv.shared.masking import masked

#: Lines of uv's own explanation that a message repeats.
MAX_LINES = 12
#: What a user's shell may have set for another environment.
FOREIGN = ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME", "UV_PYTHON", "UV_PROJECT_ENVIRONMENT")

#: The lines of uv that say how far it is.
_PROGRESS = re.compile(
    r"(Resolved|Prepared|Installed|Uninstalled|Downloading|Downloaded|Building|Built|Updating|Updated) |warning:"
)

#: What to change, by what uv says.
_REMEDIES = (
    (r"No space left on device|os error 28|Disk quota exceeded|os error 122",
     "the disk or your quota is full: `haienv gc` removes old generations, `haienv remove NAME` an environment"),
    (r"Git operation failed",
     "is the address of the repository right? With a wheel of the package on an index no repository is needed"),
    (r"Couldn't parse requirement", "write each requirement as timm==1.0.20, numpy>=2 or name @ https://..."),
    (r"timed out|error sending request|Could not connect|dns error",
     "the index does not answer: `haienv config show` has the indexes and the proxy; try again when it does"),
    (r"no wheels with a matching|wheels are required .* no (usable )?wheels",
     "the lock or the version is for another platform: write the lock on this one, or ask for another version"),
    (r"was not found in the (package registry|provided package locations|cache)",
     "is the name right? `haienv config append indexes URL` adds an index that has it"),
    (r"Because (there is|there are) no versions? of (?!.* depends on )",
     "is the version right? Leave it out to have the newest one; `haienv config append indexes URL` adds an index"),
    (r"requirements are unsatisfiable",
     "leave out or change one of the versions that exclude each other"),
)  # fmt: skip


def find(environ: Mapping[str, str]) -> str:
    """Return the path of uv. Raises Wrong."""
    named = environ.get("HAIENV_UV")
    if named:
        return named
    try:
        from uv import find_uv_bin
    except ImportError:
        found = shutil.which("uv", path=environ.get("PATH"))
    else:
        found = str(find_uv_bin())
    if found is None:
        raise Wrong("uv is not installed here, and it builds environments: pip install 'hai-env[build]'")
    return found


@dataclass(frozen=True, kw_only=True)
class Uv:
    """The program uv, with a log for its output.

    Args:
        program: Its path.
        environ: The variables of the caller: indexes, proxies and the cache are set by uv's own.
        log: The file that all output is appended to.
        show: Called with each line of progress.
    """

    program: str
    environ: Mapping[str, str]
    log: Path
    show: Callable[[str], None]

    def run(self, words: Sequence[str], *, stdin: str = "", doing: str) -> str:
        """Run uv; return its standard output.

        Args:
            words: The arguments.
            stdin: What it reads.
            doing: What it does, for the error: `resolve the requirements`.

        Raises:
            BuildFailed: It has failed; the message has uv's reason.
        """
        env = {name: value for name, value in self.environ.items() if name not in FOREIGN}
        with self.log.open("a", encoding="utf-8") as log:
            log.write(masked(f"$ uv {' '.join(words)}\n"))
            log.flush()
            try:
                status, out, err = programs.run(
                    [self.program, "--no-config" if "UV_NO_CONFIG" in env else "--color=never", *words],
                    env={**env, "NO_COLOR": "1"}, stdin=stdin, log=log, seen=self._seen,
                )  # fmt: skip
            except (FileNotFoundError, PermissionError) as error:
                raise BuildFailed(f"uv cannot be started: {error}") from None
        if status != 0:
            kind = NoSpace if space.says_full(err) else BuildFailed
            raise kind(f"uv could not {doing}: {reason(err)}{remedy(err)}")
        return out

    def _seen(self, line: str) -> None:
        if _PROGRESS.match(line.strip()):
            self.show(line.strip())


def reason(text: str) -> str:
    """Return uv's own reason, shortened."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    start = next((at for at, line in enumerate(lines) if re.match(r"(error|×|╰|cause)", line)), 0)
    kept = [re.sub(r"^(error:|×|╰─▶|├─▶|cause:)\s*", "", line) for line in lines[start:]]
    shown = kept[:MAX_LINES]
    return "; ".join(shown[:2]) + "".join(f"\n  {line}" for line in shown[2:]) if shown else "it gave no reason"


def remedy(text: str) -> str:
    """Return what to change about the usual reasons of uv, to be put behind its reason; empty: it says so itself."""
    words = " ".join(text.split())
    found = next((said for pattern, said in _REMEDIES if re.search(pattern, words)), "")
    return f"\n  {found}" if found else ""


def check_cache(environ: Mapping[str, str]) -> None:
    """Make the folder of uv's cache, which only its owner can enter. Raises Wrong for one that others can write."""
    path = cache_of(environ)
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        mode = os.stat(path).st_mode
    except OSError as error:
        raise Wrong(f"cache: {path} cannot be made: {error.strerror}; `haienv config set cache FOLDER`") from None
    if mode & 0o022:
        raise Wrong(
            f"cache: others can write {path}, and who writes a cache writes what is built from it: chmod"
            " go-w, or `haienv config set cache FOLDER` with one of your own"
        )


def cache_of(environ: Mapping[str, str]) -> str:
    """Return the folder of uv's cache, which is the user's own."""
    named = environ.get("UV_CACHE_DIR")
    home = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME", "/"), ".cache")
    return named or os.path.join(home, "uv")
