"""Give a new user the folder `hai-examples`: a notebook that teaches the platform, and trainings to begin with.

The files are those of `examples/` in the repository; the wheel carries them. They are written once: a marker beside
the user's own settings says so, and a user who deletes the folder keeps it deleted. Only the card *Examples* of the
Launcher, which the user clicks, writes again what is missing. What is there is never written over.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import tornado.web

from hai_lab.handler import HaiHandler
from hai_lab.problem import Problem

#: The folder in the user's home.
FOLDER: Final = "hai-examples"
#: The notebook that the Launcher opens.
NOTEBOOK: Final = "start-here.ipynb"
#: Says in the user's home that the folder was given.
MARKER: Final = Path(".local", "share", "hai", "examples-given")
_log = logging.getLogger("hai_lab")


def shipped() -> Path | None:
    """Return the folder with the files; None: this installation has none.

    A wheel has them in the package. In a checkout they are at the root of the repository.
    """
    package = Path(__file__).parent
    found = [package / "example_files", package.parents[1] / "examples"]
    return next((folder for folder in found if (folder / NOTEBOOK).is_file()), None)


@dataclass(frozen=True)
class Examples:
    """The examples of a user."""

    home: Path  #: The user's home, as far as JupyterLab shows it.
    root: Path  #: The folder that JupyterLab shows.
    source: Path | None  #: Where the files come from; None: there are none.

    @classmethod
    def of(cls, root: Path) -> Examples:
        """Return those of this process's user. A home outside of the root folder cannot be shown: the root is taken."""
        home = Path.home().absolute()
        return cls(home if home.is_relative_to(root) else root, root, shipped())

    def give(self) -> bool:
        """Write the folder when the user has never had it; whether it was written.

        It is no reason not to start JupyterLab: a home that cannot be written to is only logged.
        """
        marker = self.home / MARKER
        try:
            if self.source is None or marker.exists():
                return False
            marker.parent.mkdir(parents=True, exist_ok=True)
            written = self._write_whole(self.source)
            marker.touch()
        except OSError as error:
            _log.warning("hai_lab: %s could not be written: %s", self.home / FOLDER, error.strerror)
            return False
        return written

    def restore(self) -> str:
        """Write what is missing, and return the path of the notebook below the root folder.

        Raises:
            Problem: There are no examples here, or they cannot be written.
        """
        if self.source is None:
            raise Problem(404, "not_found", "Not found", "This JupyterLab was installed without the examples of HAI.")
        folder = self.home / FOLDER
        try:
            folder.mkdir(exist_ok=True)
            for path in self._files(self.source):
                # Never through a link, and never over a file of the user's.
                with contextlib.suppress(FileExistsError), (folder / path.name).open("xb") as copy:
                    copy.write(path.read_bytes())
        except OSError as error:
            raise Problem(
                409,
                "conflict",
                "Not possible",
                f"The folder {FOLDER} in your home cannot be written ({error.strerror}); "
                "make room there, or rename what is called so, and try again.",
            ) from None
        return (folder / NOTEBOOK).relative_to(self.root).as_posix()

    def _write_whole(self, source: Path) -> bool:
        """Write the folder at once: nobody sees half of it, and of two servers that start together one does it."""
        target = self.home / FOLDER
        if os.path.lexists(target):
            return False
        made = Path(tempfile.mkdtemp(prefix=f".{FOLDER}-", dir=self.home))
        try:
            for path in self._files(source):
                shutil.copyfile(path, made / path.name)
            made.chmod(0o755)
            made.rename(target)
        except OSError:
            shutil.rmtree(made, ignore_errors=True)
            if target.is_dir():
                return False
            raise
        return True

    @staticmethod
    def _files(source: Path) -> list[Path]:
        return sorted(path for path in source.iterdir() if path.is_file() and path.suffix in (".ipynb", ".py", ".yml"))


class ExamplesHandler(HaiHandler):
    """`hai-lab/examples`: write what is missing of the examples, and say where the notebook is."""

    @tornado.web.authenticated
    def post(self) -> None:
        """Answer with the path of the notebook below the server's root folder."""
        examples: Examples = self.settings["hai_lab_examples"]
        try:
            self.finish(json.dumps({"path": examples.restore()}))
        except Problem as problem:
            self.refuse(problem)
