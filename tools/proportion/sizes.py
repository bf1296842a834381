"""Lines by folder, small files, and long functions, of what git tracks."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
#: What is production code.
PRODUCTION: Final = ("scheduler_service", "hub_config", "spawner", "lab_extension", "client", "haienv", "tools", "helm")
#: A file with fewer lines is small.
SMALL: Final = 20
_ENDINGS: Final = {".py": "Python", ".ts": "TypeScript", ".tsx": "TypeScript"}


@dataclass(frozen=True, slots=True)
class Source:
    """A file of source code."""

    path: Path
    lines: int

    @property
    def language(self) -> str:
        """Python or TypeScript."""
        return _ENDINGS[self.path.suffix]

    @property
    def production(self) -> bool:
        """Whether the product has it, not its tests."""
        return (
            self.path.parts[0] in PRODUCTION and "__tests__" not in self.path.parts and ".spec." not in self.path.name
        )


def sources(root: Path = ROOT) -> list[Source]:
    """Return the source files that git tracks."""
    tracked = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
    paths = [Path(name) for name in tracked.split("\0") if name]
    return [
        Source(path, len((root / path).read_text(encoding="utf-8").splitlines()))
        for path in paths
        if path.suffix in _ENDINGS and (root / path).is_file()
    ]


def by_folder(found: Sequence[Source], depth: int) -> dict[str, int]:
    """Return the lines of each folder, by the first `depth` parts of their paths."""
    sums: dict[str, int] = {}
    for one in found:
        folder = "/".join(one.path.parent.parts[:depth])
        sums[folder] = sums.get(folder, 0) + one.lines
    return dict(sorted(sums.items()))


def longest_functions(found: Sequence[Source], count: int, root: Path = ROOT) -> list[tuple[int, str]]:
    """Return the longest functions of Python: their lines with the signature and the docstring, and where they are."""
    every = [
        (length, f"{one.path}:{name}")
        for one in found
        if one.path.suffix == ".py"
        for length, name in _functions(root / one.path)
    ]
    return sorted(every, reverse=True)[:count]


def _functions(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.end_lineno - node.lineno + 1, node.name
