"""Requirements files of pip: what they ask for, and lines that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from haienv.shared.errors import Wrong
from haienv.sources.source import Source
from unit.haienv.sources.files_kit import H1, H2, read, write


def test_a_requirements_file_has_comments_long_lines_hashes_other_files_and_indexes(tmp_path: Path) -> None:
    write(tmp_path, "more.txt", "six\n")
    write(tmp_path, "limits.txt", "numpy<3\n")
    path = write(
        tmp_path, "requirements.txt",
        f"# all\ntimm==1.0 # why\nnumpy>=2 \\\n    {H1} \\\n    {H2}\n\ntorch @ https://x/y.whl#sha256=1\n"
        "-r more.txt\n--constraint=limits.txt\n--extra-index-url https://a.example/simple\n-i https://b.example/s\n"
        "--require-hashes\n",
    )  # fmt: skip
    assert read(path) == Source(
        requirements=("timm==1.0", f"numpy>=2 {H1} {H2}", "torch @ https://x/y.whl#sha256=1", "six"),
        constraints=("numpy<3",),
        indexes=("https://a.example/simple", "https://b.example/s"),
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("-e .", "editable.*build a wheel"),
        ("--editable ./x", "editable.*build a wheel"),
        ("-f /wheels", "UV_FIND_LINKS"),
        ("--pre", "admits pre-releases"),
        ("--no-binary :all:", "not supported here"),
        ("-r missing.txt", "missing.txt: there is no such file"),
        ("-r", "no file is named"),
        ("x @ git+https://a/b", "has no hash"),
        ("--extra-index-url https://ann:secret@a.example/simple", "a password or a token in it"),
        ("x @ https://ann:secret@a.example/x.whl", "a password or a token in it, which would be seen"),
        ("-i ftp://a", "is not an address"),
        ("=1.0", "is not one"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_with_a_remedy(tmp_path: Path, line: str, says: str) -> None:
    path = write(tmp_path, "requirements.txt", f"numpy\n\n{line}\n")
    with pytest.raises(Wrong, match=rf"(?s)^{path}, line 3: .*{says}") as caught:
        read(path)
    assert "secret" not in str(caught.value)


def test_the_line_of_a_file_that_another_one_names_is_the_one_that_is_said(tmp_path: Path) -> None:
    inner = write(tmp_path, "inner.txt", "six\n=bad\n")
    path = write(tmp_path, "requirements.txt", "-r inner.txt\n")
    with pytest.raises(Wrong, match=rf"^{inner}, line 2: "):
        read(path)
    write(tmp_path, "inner.txt", "-r requirements.txt\n")
    with pytest.raises(Wrong, match="a cycle"):
        read(path)
