"""The folder of all environments, by the variables of a shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from haienv.shared.errors import Wrong
from haienv.store.layout import root_of


def test_haienv_root_comes_before_the_originals_variable_and_the_users_own_folder(tmp_path: Path) -> None:
    given = {"HAIENV_ROOT": "/a", "HAIENV_PATH": "/b", "HOME": "/home/ann"}
    assert root_of(given) == Path("/a")
    assert root_of({**given, "HAIENV_ROOT": ""}) == Path("/b")
    assert root_of({"HOME": "/home/ann"}) == Path("/home/ann/.local/share/haienv")
    assert root_of({"HOME": "/home/ann", "XDG_DATA_HOME": "/data"}) == Path("/data/haienv")
    assert root_of({"HAIENV_ROOT": str(tmp_path / "new")}) == tmp_path / "new"


@pytest.mark.parametrize("variable", ["HAIENV_ROOT", "HAIENV_PATH"])
def test_a_root_that_is_no_folder_is_refused_by_the_name_of_its_variable(tmp_path: Path, variable: str) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(Wrong, match=f"{variable}: {file} is no folder; set it to the folder of all environments"):
        root_of({variable: str(file)})
