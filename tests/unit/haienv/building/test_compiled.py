"""Compiled Python: made once for a builder, valid for Python, and never instead of a source that has changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from haienv.building import remembered
from haienv.building.compiled import compile_all
from haienv.building.remembered import Memory

TAG = sys.implementation.cache_tag
#: A build where no file can become longer than nothing: marks of what has errors are empty.
WITHOUT_SPACE = """
import signal, sys
from pathlib import Path
from haienv.building import remembered
from haienv.building.compiled import compile_all
from haienv.building.remembered import Memory
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
top, memory = Path(sys.argv[1]), Path(sys.argv[2])
files, _ = remembered.look(top, {})
remembered.read(top, files, Memory(memory))
compile_all(top, Path(sys.executable), sys.implementation.cache_tag, files, memory)
"""


def compile_tree(top: Path, memory: Path) -> int:
    known = Memory(memory)
    files, _ = remembered.look(top, known.known(()))
    remembered.read(top, files, known)
    return compile_all(top, Path(sys.executable), TAG, files, memory)


def grown(top: Path) -> Path:
    top.mkdir()
    (top / "a.py").write_text("import sys\nWHERE = sys._getframe().f_code.co_filename\n")
    (top / "wrong.py").write_text("print 1\n")
    (top / "data").write_text("x")
    return top


def run(top: Path, line: str) -> str:
    words = [sys.executable, "-I", "-v", "-c", f"import sys; sys.path.insert(0, {str(top)!r}); {line}"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout + "\n".join(one for one in done.stderr.splitlines() if str(top) in one)


def test_files_are_compiled_once_and_python_uses_them(tmp_path: Path) -> None:
    one, memory = grown(tmp_path / "one"), tmp_path / "memory"
    assert compile_tree(one, memory) == 2
    [made] = (one / "__pycache__").iterdir()
    assert made.name == f"a.{TAG}.pyc"
    assert made.stat().st_mode & 0o777 == 0o444
    two = tmp_path / "two"
    shutil.copytree(one, two, copy_function=os.link, ignore=shutil.ignore_patterns("__pycache__"))
    assert compile_tree(two, memory) == 0, "what cannot be compiled is not tried again"
    assert (two / "__pycache__" / made.name).stat().st_ino == made.stat().st_ino
    out = run(two, "import a; print(a.WHERE)")
    assert f"code object from '{two}/__pycache__/{made.name}'" in out
    assert out.startswith(f"{two}/a.py\n"), "tracebacks name the file of this environment"


def test_a_source_that_has_changed_is_compiled_again(tmp_path: Path) -> None:
    top, memory = grown(tmp_path / "top"), tmp_path / "memory"
    compile_tree(top, memory)
    (top / "a.py").write_text("WHERE = 'changed'\n")
    assert run(top, "import a; print(a.WHERE)").startswith("changed\n")


def test_what_could_not_be_compiled_for_want_of_space_is_tried_again(tmp_path: Path) -> None:
    one, memory = grown(tmp_path / "one"), tmp_path / "memory"
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 0; exec "$0" -c "$@"', sys.executable, WITHOUT_SPACE, str(one), str(memory)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("", "")
    assert not list((one / "__pycache__").iterdir())
    assert compile_tree(one, memory) == 1, "of the two, one has an error of its own"
    assert [made.name for made in (one / "__pycache__").iterdir()] == [f"a.{TAG}.pyc"]
