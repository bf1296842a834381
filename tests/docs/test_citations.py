"""What docstrings, comments, pages and decisions cite exists: files, modules, names of code, targets of make."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from docs.kit import ROOT, files, name_of, prose, text_of

#: Pages that speak of former names, or that programs write from docstrings.
HISTORY = ("docs/decisions/0020-rooms.md", "docs/decisions/0022-one-vocabulary.md", "docs/reference/", "CHANGELOG.md")
#: What other programs call so, values and examples: a name of our code does not belong here.
_ELSEWHERE = """
    Authenticator.delete_invalid_users ChildFailedError.format_msg HAI_HUB_SETTINGS HAI_SERVICE_SECRET HTTPServer
    HTTPServerConnectionDelegate JupyterHub.bind_url NCCL_DEBUG Reason SBATCH_PARTITION Store Vision __glibc
    _last_activity _libgcc_mutex activate add_accept_handler auto blocked_users default_transaction_read_only degraded
    enable_jit_checkpoint falling gpu0_use hfai.datasets.NAME iflytek io_submit jupyter_server.serverapp.ServerApp
    nodeN nohup numpy.savez ok os.pidfd_open pam postgresql preexec_fn printWidth remote_ip removeprefix splitlines
    sqlite str.removeprefix sudo t0 t399 torch.distributed.init_process_group turn_over typing.get_type_hints
    username_pattern vision webhookerrors.ToStatusErr zh_CN
"""
ELSEWHERE = frozenset(_ELSEWHERE.split())
#: Files of examples, of other projects and of builds, and an address.
_OTHER_FILES = """
    tool.py train/digits.py torch/version.py ROOT/config.toml shared/peers/slurm_baseline.sh 训练.py test_MODULE.py
    test_MODULE_WHAT.py hai_lab/labextension hai_lab/page api/tasks
"""
OTHER_FILES = frozenset(_OTHER_FILES.split())
PACKAGES = ("hai_client", "hai_ffrecord", "hai_hub", "hai_lab", "hai_scheduler", "hai_slurm", "hai_spawner")
ROOMS = ("adapters", "api", "app", "core", "ports", "service", "sim", "store", "tests", "tools", "worker")
_FILE = re.compile(
    r"(?<![\w/.$~{<:*-])(?:\.\.?/)*((?:[\w-][\w.-]*/)*[\w-]+\.(?:py|md|tsx?|mjs|sh|toml|ya?ml))\b(?![/(])"
)
_SOURCE = re.compile(r"\.(?:py|tsx?|mjs)$")
_ROOM = re.compile(rf"`((?:{'|'.join((*PACKAGES, *ROOMS))})(?:/[a-z_]\w*)+)/?`")
_DOTTED = re.compile(
    rf"(?<![\w./-])((?:{'|'.join(PACKAGES)})(?:\.[A-Za-z_]\w*)+|(?:core|service|adapters|ports|store)(?:\.[a-z_]\w*){{2,}})"
)
_NAME = re.compile(r"`([A-Za-z_][\w.]*\w)(?<!\.ts)(?:\(\))?`")
_DECISION = re.compile(r"decisions?\s+(\d{4})\b")
_HEADING = re.compile(r"(docs/[\w-]+\.md),\s+\"([^\"]+)\"")
_MAKE = re.compile(r"`make ([a-z][a-z-]*)")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
NAMES = frozenset(map(name_of, files()))


def top_of(name: str) -> str:
    """The package of a file."""
    return "/".join(name.split("/")[:2])


@cache
def texts() -> dict[str, list[str]]:
    """What people read in each file: pages without their blocks of code, docstrings and comments."""
    found = {}
    for file in files():
        name = name_of(file)
        if file.suffix == ".py":
            found[name] = parts_of(name)[0]
        elif file.suffix in (".ts", ".tsx", ".mjs"):
            found[name] = _COMMENT.findall(text_of(name))
        elif file.suffix == ".md" and not name.startswith(HISTORY):
            found[name] = [prose(text_of(name))]
    return found


@cache
def parts_of(name: str) -> tuple[list[str], set[str]]:
    """The docstrings and comments of a program, and the words of its code, those in strings included."""
    source = text_of(name)
    said, places, words = [], set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                said.append(str(first.value.value))
                places.add((first.lineno, first.col_offset))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            said.append(token.string)
        elif token.start not in places:
            words.update(re.findall(r"\w+", token.string))
    return said, words


@cache
def words_of_packages() -> dict[str, set[str]]:
    """The words of the code of each package, with the names of its files and folders."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name in NAMES:
        found[top_of(name)].update(re.findall(r"\w+", name))
        if name.endswith(".py"):
            found[top_of(name)] |= parts_of(name)[1]
    return found


def cited(pattern: re.Pattern[str], *, suffix: str = "") -> Iterator[tuple[str, Any]]:
    """Each file, and what it cites: a text, or a tuple of several."""
    for name, said in texts().items():
        if name.endswith(suffix):
            for text in said:
                for found in pattern.findall(text):
                    yield name, found


def is_there(path: str) -> bool:
    """Whether a file or folder has this path, or one that ends with it."""
    return any(f"/{name}".endswith(f"/{path}") or f"/{path}/" in f"/{name}" for name in NAMES)


def resolves(dotted: str) -> bool:
    """Whether there is such a module, or a module with such a name in it."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        path = "/".join(parts[:count])
        for name in NAMES:
            if f"/{name}".endswith((f"/{path}.py", f"/{path}/__init__.py")):
                return set(parts[count:]) <= set(re.findall(r"\w+", text_of(name)))
    return False


def test_files_that_are_cited_exist() -> None:
    found = {(name, path) for name, path in cited(_FILE) if path not in OTHER_FILES and not is_there(path)}
    assert sorted({(name, path) for name, path in found if "/" in path or _SOURCE.search(path)}) == []


def test_modules_that_are_cited_by_their_room_exist() -> None:
    found = {(name, path) for name, path in cited(_ROOM) if path not in OTHER_FILES}
    assert sorted({(name, path) for name, path in found if not (is_there(path) or is_there(f"{path}.py"))}) == []


def test_modules_that_are_cited_by_their_dotted_name_exist() -> None:
    assert sorted({(name, dotted) for name, dotted in cited(_DOTTED) if not resolves(dotted)}) == []


def test_names_in_docstrings_and_comments_are_names_of_the_same_package() -> None:
    """A class, function, module or setting in back ticks; what is elsewhere is cited with its package."""
    words = words_of_packages()
    found = {
        (name, said)
        for name, said in cited(_NAME, suffix=".py")
        if said.rpartition(".")[2] not in words[top_of(name)] and said not in ELSEWHERE and not resolves(said)
    }
    assert sorted({(name, said) for name, said in found if not name.startswith("tests/")}) == []


def test_no_exception_is_there_without_need() -> None:
    said = {found for _, found in cited(_NAME, suffix=".py")} | {
        found for pattern in (_FILE, _ROOM) for _, found in cited(pattern)
    }
    assert (ELSEWHERE | OTHER_FILES) - said == set()


def test_decisions_that_are_cited_exist() -> None:
    numbers = {name.split("/")[-1][:4] for name in NAMES if name.startswith("docs/decisions/")}
    assert sorted({(name, number) for name, number in cited(_DECISION) if number not in numbers}) == []


def test_headings_that_are_cited_exist() -> None:
    wrong = {
        (name, page, heading)
        for name, (page, heading) in cited(_HEADING)
        if " ".join(heading.split()) not in re.findall(r"^#+ (.+)$", prose(text_of(page)), re.MULTILINE)
    }
    assert sorted(wrong) == []


def test_targets_of_make_that_are_cited_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert sorted({(name, target) for name, target in cited(_MAKE) if target not in targets}) == []


@pytest.mark.parametrize(
    ("dotted", "there"),
    [
        ("hai_scheduler.core.planning.plan", True),
        ("hai_scheduler.core.planning.plan.plan", True),
        ("hai_scheduler.core.planning.endings", False),
        ("hai_scheduler.core.planning.plan.nothing_of_it", False),
    ],
)
def test_a_module_and_what_is_in_it_resolve(dotted: str, there: bool) -> None:
    assert resolves(dotted) is there


def test_a_path_is_there_by_its_end() -> None:
    assert is_there("planning/plan.py")
    assert not is_there("lanning/plan.py")
