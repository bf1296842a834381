"""`env.toml`: what is written can be read, and what is wrong is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haienv import spec as specs
from haienv.errors import Damaged, Wrong
from haienv.spec import Spec

TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=40)


@given(
    description=TEXTS,
    python=st.none() | TEXTS.filter(bool),
    variables=st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,9}", fullmatch=True), TEXTS, max_size=3),
    indexes=st.lists(TEXTS, max_size=2),
    kernel=st.booleans(),
)
def test_what_is_written_is_read_again(tmp_path_factory, description, python, variables, indexes, kernel) -> None:
    made = Spec(
        description=description, python=python, variables=variables, indexes=tuple(indexes), kernel=kernel,
        requirements=("timm==1.0.20", "numpy>=2; python_version > '3'"),
    )  # fmt: skip
    path = tmp_path_factory.mktemp("spec") / "env.toml"
    made.write(path)
    assert specs.read(path) == made


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pyhton = '3.11'", "pyhton: is not known"),
        ("kernel = 1", "kernel: 1 is not true or false"),
        ("requirements = ['-e .']", "editable"),
        ("requirements = [3]", "requirements: 3 is not a text"),
        ("variables = {'A B' = 'x'}", "variables: 'A B'"),
        ("python = ", "is no TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "env.toml"
    path.write_text(text)
    with pytest.raises(Damaged) as caught:
        specs.read(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_requirement_replaces_the_one_for_the_same_package() -> None:
    spec = Spec(requirements=("Timm_x==1", "numpy")).adding(["timm-x==2", "torch"])
    assert spec.requirements == ("timm-x==2", "numpy", "torch")
    assert spec.without(["NumPy"]).requirements == ("timm-x==2", "torch")
    with pytest.raises(Wrong, match="'scipy' was not asked for; these were: timm-x, numpy, torch"):
        spec.without(["scipy"])


@pytest.mark.parametrize("text", ["", "-r other.txt", "--pre x", "-e .", "-e git+https://x", "--editable=.", "a\nb"])
def test_what_is_no_requirement_is_refused(text: str) -> None:
    with pytest.raises(Wrong, match=r"^requirement"):
        specs.check_requirement(text)


def test_a_requirements_file_may_have_comments_hashes_and_long_lines(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text("# all\ntimm==1.0 # why\nnumpy>=2 \\\n    --hash=sha256:00\n\ntorch @ https://x/y#sha256=1\n")
    assert specs.read_requirements(path) == ("timm==1.0", "numpy>=2", "torch @ https://x/y#sha256=1")
