"""The built page is read once: the document, and files whose names hold digests."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from hai_scheduler.api.server.page import PATHS, POLICY, WHERE, StudioPage, read_page


def test_a_folder_without_a_document_is_no_page(tmp_path: Path) -> None:
    (tmp_path / "main.0123456789abcdef.js").write_text("open()")
    assert read_page(tmp_path) == StudioPage()
    assert read_page(tmp_path / "none") == StudioPage()


def test_files_with_a_digest_in_their_name_are_served_and_no_others(tmp_path: Path) -> None:
    for name in ("index.html", "main.0123456789abcdef.js", "main.0123456789abcdef.css", "notes.txt", ".env"):
        (tmp_path / name).write_text(name)
    page = read_page(tmp_path)
    assert page.document == "index.html"
    assert {name: file.kind for name, file in page.files.items()} == {
        "main.0123456789abcdef.css": "text/css; charset=utf-8",
        "main.0123456789abcdef.js": "text/javascript; charset=utf-8",
    }
    file = page.files["main.0123456789abcdef.js"]
    assert gzip.decompress(file.packed) == file.plain == b"main.0123456789abcdef.js"


def test_the_page_is_found_where_pip_puts_it_for_one_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path / "system"))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / "local"))
    monkeypatch.setattr("site.getuserbase", lambda: str(tmp_path / "home"))
    assert read_page() == StudioPage()
    (tmp_path / "home" / WHERE).mkdir(parents=True)
    (tmp_path / "home" / WHERE / "index.html").write_text("of the user")
    assert read_page().document == "of the user"


@pytest.mark.parametrize("path", ["", "tasks", "tasks/41", "apiary"])
def test_pages_and_tasks_have_addresses(path: str) -> None:
    assert re.fullmatch(PATHS, path)


@pytest.mark.parametrize(
    "path", ["api/v1", "api/1", "tasks/", "tasks/x", "tasks/1/2", "../x", ".env", "oauth_callback"]
)
def test_the_interface_and_everything_else_is_no_page(path: str) -> None:
    assert not re.fullmatch(PATHS, path)


def test_nothing_may_run_that_the_service_has_not_sent() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in POLICY.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"
