"""One walk through a folder: which files are taken, which are left out, and what is said about them."""

from __future__ import annotations

import os
import stat
from typing import Callable, Iterator, NamedTuple

from hai_client.snapshots import manifest
from hai_client.snapshots.git import GitQuestions
from hai_client.snapshots.ignoring import IgnoreRules, left_out

HAIIGNORE, GITIGNORE = ".haiignore", ".gitignore"
#: Folders that are never code: what version control, Python and tools keep for themselves.
NEVER = frozenset(
    (
        ".git", ".hg", ".svn", ".bzr", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache",
        ".ipynb_checkpoints", ".tox", ".nox", ".cache", ".hypothesis", ".eggs",
    )
)  # fmt: skip
#: How many files of what is left out are counted, over all of it: a data set may have millions.
MOST_COUNTED = 20_000


class TakenFile(NamedTuple):
    """A file or link that is taken."""

    path: str
    kind: str
    target: str  #: The target of a link; empty for a file.
    #: Time of the last change of the content and of the file, size, number and device: what tells one state of a file
    #: from another.
    stamp: tuple[int, int, int, int, int]
    size: int


class Skipped(NamedTuple):
    """A folder or file that rules leave out."""

    path: str
    size: int  #: Bytes in it, at least.
    whole: bool  #: Whether all of it was counted.


class Walk(NamedTuple):
    """What a walk has found."""

    found: list[TakenFile]
    skipped: list[Skipped]
    notes: list[str]  #: Sentences about what is left out, although no rule says so.


class WalkLimits(NamedTuple):
    """The most that a walk looks at before it gives up; it is the same as the most that may be sent."""

    files: int
    size: int


class TooMuch(Exception):
    """A folder has more than may be sent; `found` is what was seen of it until then."""

    def __init__(self, found: list[TakenFile]) -> None:
        super().__init__("too much")
        self.found = found


def walk(folder: str, asked: GitQuestions, limits: WalkLimits, *, own_rules: bool) -> Walk:
    """Look at all files of a folder once.

    Args:
        folder: The folder.
        asked: Questions to git, under way.
        limits: The most files and bytes.
        own_rules: Whether `.haiignore` is used; else git's rules are.

    Raises:
        TooMuch: There is more than that.
        OSError: The folder cannot be read.
    """
    return _Walker(folder, asked, limits, own_rules).walk()


class _Walker:
    def __init__(self, folder: str, asked: GitQuestions, limits: WalkLimits, own_rules: bool) -> None:
        self._folder = folder
        self._real = os.path.realpath(folder)
        # Logins, keys and tokens are there, and the user's home is where JupyterLab starts.
        home = os.path.realpath(os.path.expanduser("~"))
        self._home = home if _below(home, self._real) else None
        self._limits = limits
        self._names = HAIIGNORE if own_rules else GITIGNORE
        known = None if own_rules else asked.files()
        self._files: set[str] | None = None if known is None else known.files
        self._repositories: set[str] = set() if known is None else known.repositories
        self._folders: set[str] = set() if self._files is None else _folders_of(self._files | self._repositories)
        self._size = 0
        self._counted = 0
        self._out = Walk([], [], [])

    def walk(self) -> Walk:
        above = [] if self._names == HAIIGNORE or self._files is not None else self._rules_above()
        self._enter("", above, by_git=self._files is not None)
        return self._out

    def _rules_above(self) -> list[tuple[int, IgnoreRules]]:
        """The rules of the folders above, up to the one that has `.git`, where git itself cannot be asked."""
        chain: list[str] = []
        here = self._real
        while not os.path.lexists(f"{here}/.git"):
            above = os.path.dirname(here)
            if above == here:
                return []
            chain.append(os.path.basename(here))
            here = above
        layers: list[tuple[int, IgnoreRules]] = []
        for number in range(len(chain), 0, -1):
            rules = _read(os.path.join(here, GITIGNORE))
            if rules is not None:
                layers.append((-number, _Below(rules, "/".join(reversed(chain[:number])))))
            here = os.path.join(here, chain[number - 1])
        return [(0, rules) for _, rules in layers]

    def _enter(self, path: str, layers: list[tuple[int, IgnoreRules]], *, by_git: bool) -> None:
        place = os.path.join(self._folder, path) if path else self._folder
        try:
            with os.scandir(place) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            if not path:
                raise
            self._note(f"{path}/ cannot be read ({_why(error)}) and is left out")
            return
        if not by_git:
            rules = _read(os.path.join(place, self._names))
            if rules is not None:
                layers = [*layers, (len(path) + 1 if path else 0, rules)]
        if self._home is not None and os.path.realpath(place) == self._home:
            hidden = [entry.name for entry in entries if entry.name.startswith(".")]
            entries = [entry for entry in entries if not entry.name.startswith(".")]
            if hidden:
                self._note(
                    f"{place} is your home folder: what begins with a dot there, the settings and logins of programs, "
                    "is left out"
                )
        for entry in entries:
            self._look(entry, f"{path}/{entry.name}" if path else entry.name, layers, by_git=by_git)

    def _look(self, entry: os.DirEntry[str], path: str, layers: list[tuple[int, IgnoreRules]], *, by_git: bool) -> None:
        folder = entry.is_dir(follow_symlinks=False)
        if entry.name in NEVER or (entry.name == ".git" and not folder):
            return
        if folder and _is_environment(entry.path):
            self._out.skipped.append(Skipped(path, 0, False))
            return
        own = path in self._repositories or (folder and self._is_submodule(entry.path, path))
        if by_git and not own:
            out = path not in (self._folders if folder else self._files or ())
        else:
            out = left_out(layers, path, folder=folder)
        if out and by_git and not own and not folder and _is_special(entry):
            # Git lists no pipes, sockets and devices, and ignores none of them.
            self._take(entry, path)
        elif out:
            self._out.skipped.append(self._sized(entry, path, folder=folder))
        elif folder:
            # Git says nothing of what is in a repository within the repository: its own rules count there.
            self._enter(path, [] if own else layers, by_git=by_git and not own)
        else:
            self._take(entry, path)

    def _is_submodule(self, place: str, path: str) -> bool:
        # Git lists a submodule by its path alone, as it lists a file.
        return self._files is not None and path in self._files and os.path.lexists(f"{place}/.git")

    def _take(self, entry: os.DirEntry[str], path: str) -> None:
        try:
            state = entry.stat(follow_symlinks=False)
        except OSError:
            return  # it was removed at this moment
        try:
            manifest.check_path(path)
        except manifest.BadManifest as error:
            self._note(f"{error}; it is left out")
            return
        if stat.S_ISLNK(state.st_mode):
            self._link(entry, path)
        elif stat.S_ISREG(state.st_mode):
            kind = manifest.PROGRAM if state.st_mode & 0o100 else manifest.FILE
            stamp = (state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino, state.st_dev)
            self._out.found.append(TakenFile(path, kind, "", stamp, state.st_size))
            self._size += state.st_size
            if len(self._out.found) > self._limits.files or self._size > self._limits.size:
                raise TooMuch(self._out.found)
        else:
            self._note(f"{path} is {_kind(state.st_mode)} and is left out")

    def _link(self, entry: os.DirEntry[str], path: str) -> None:
        try:
            target = os.readlink(entry.path)
        except OSError:
            return
        if os.path.isabs(target):
            inside = os.path.relpath(target, self._real) if _below(os.path.realpath(target), self._real) else ".."
            ups = "../" * path.count("/")
            target = target if inside.startswith("..") else f"{ups}{'' if inside == '.' else inside}".rstrip("/") or "."
        try:
            manifest.check_target(path, target)
        except manifest.BadManifest:
            self._note(f"{path} is a link to {target} and is left out: a task finds that only by its own path")
            return
        self._out.found.append(TakenFile(path, manifest.LINK, target, (0, 0, 0, 0, 0), 0))

    def _note(self, sentence: str) -> None:
        self._out.notes.append(sentence)

    def _sized(self, entry: os.DirEntry[str], path: str, *, folder: bool) -> Skipped:
        if not folder:
            return Skipped(path, _size(entry), True)
        size = 0
        for each in _files_below(entry.path):
            self._counted += 1
            if self._counted > MOST_COUNTED:
                return Skipped(f"{path}/", size, False)
            size += _size(each)
        return Skipped(f"{path}/", size, True)


class _Below(IgnoreRules):
    """Rules of a folder above the one that is walked through."""

    def __init__(self, rules: IgnoreRules, way: str) -> None:
        self._above, self._way = rules, way

    def says(self, path: str, *, folder: bool) -> bool | None:
        return self._above.says(f"{self._way}/{path}", folder=folder)


def _folders_of(files: set[str]) -> set[str]:
    found: set[str] = set()
    for path in files:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found


def _read(path: str) -> IgnoreRules | None:
    """Return the rules of a file; None where there is none."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return IgnoreRules(file.read(1_000_000))
    except OSError:
        return None


def _is_environment(folder: str) -> bool:
    return os.path.exists(f"{folder}/pyvenv.cfg") or os.path.isdir(f"{folder}/conda-meta")


def _files_below(folder: str) -> Iterator[os.DirEntry[str]]:
    places = [folder]
    while places:
        try:
            with os.scandir(places.pop()) as listing:
                for entry in listing:
                    if entry.is_dir(follow_symlinks=False):
                        places.append(entry.path)
                    yield entry
        except OSError:  # noqa: PERF203 -- a folder that cannot be read has no size
            continue


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return 0 if entry.is_dir(follow_symlinks=False) else entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _is_special(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is no folder, file or link."""
    return not (entry.is_file(follow_symlinks=False) or entry.is_symlink() or entry.is_dir(follow_symlinks=False))


def _kind(mode: int) -> str:
    kinds: dict[str, Callable[[int], bool]] = {
        "a socket": stat.S_ISSOCK,
        "a pipe": stat.S_ISFIFO,
        "a device": lambda bits: stat.S_ISBLK(bits) or stat.S_ISCHR(bits),
    }
    return next((name for name, is_one in kinds.items() if is_one(mode)), "no file")


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
