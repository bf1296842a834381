"""A notebook that becomes a task keeps the Python of its kernel."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jupyter_client.kernelspec import NoSuchKernel

from hai_lab.kernels import submission


class Specs:
    """Kernels by name, as Jupyter's KernelSpecManager has them."""

    def __init__(self, metadata: object = None, **argv: list[str]) -> None:
        self._argv, self._metadata = argv, metadata

    def get_kernel_spec(self, name: str) -> Any:
        if name not in self._argv:
            raise NoSuchKernel(name)
        return SimpleNamespace(argv=self._argv[name], metadata=self._metadata)


def notebook(folder: Path, metadata: object) -> Path:
    path = folder / "nb.ipynb"
    path.write_text(json.dumps({"metadata": metadata}))
    return path


def made(folder: Path, *files: str) -> str:
    (folder / "bin").mkdir(parents=True)
    for name in ("bin/python", *files):
        (folder / name).touch()
    return str(folder / "bin/python")


def test_the_kernels_environment_is_that_of_the_task(tmp_path: Path) -> None:
    path = notebook(tmp_path, {"kernelspec": {"name": "mine"}})
    specs = Specs(mine=[made(tmp_path / "venv", "pyvenv.cfg"), "-m", "ipykernel_launcher"])
    assert submission(path, specs) == {"env": {"HAI_VENV": str(tmp_path / "venv")}}
    conda = made(tmp_path / "conda")
    (tmp_path / "conda/conda-meta").mkdir()
    expected = {"HAI_VENV": str(tmp_path / "conda"), "CONDA_PREFIX": str(tmp_path / "conda")}
    assert submission(path, Specs(mine=[conda])) == {"env": expected}


@pytest.mark.parametrize(
    "program", ["python", "/usr/bin/python3", "{server}", "{none}"], ids=["by name", "system", "server", "no argv"]
)
def test_a_kernel_that_was_not_chosen_says_nothing(tmp_path: Path, program: str) -> None:
    server = made(tmp_path / "server", "pyvenv.cfg", "bin/jupyterhub-singleuser")
    argv = [] if program == "{none}" else [program.format(server=server)]
    assert submission(notebook(tmp_path, {"kernelspec": {"name": "mine"}}), Specs(mine=argv)) == {}


@pytest.mark.parametrize("metadata", [{}, {"kernelspec": None}, {"kernelspec": {"name": "other"}}, None], ids=str)
def test_a_notebook_without_a_known_kernel_says_nothing(tmp_path: Path, metadata: object) -> None:
    assert submission(notebook(tmp_path, metadata), Specs()) == {}


def test_what_is_no_notebook_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "nb.ipynb").write_text("{")
    assert submission(tmp_path / "nb.ipynb", Specs()) == {}
    assert submission(tmp_path / "gone.ipynb", Specs()) == {}


def test_the_kernel_of_an_environment_of_haienv_names_it_with_its_generation(tmp_path: Path) -> None:
    path = notebook(tmp_path, {"kernelspec": {"name": "mine"}})
    argv = [made(tmp_path / "venv", "pyvenv.cfg")]
    said: dict[str, object] = {"environment": "users/ann/vision", "generation": 3, "prefix": "/x"}
    assert submission(path, Specs({"haienv": said}, mine=argv)) == {"environment": "users/ann/vision@3"}


@pytest.mark.parametrize("said", [None, "x", {}, {"environment": "-x", "generation": 3}, {"environment": "base/x"}])
def test_a_kernel_that_says_nonsense_of_haienv_is_one_like_others(tmp_path: Path, said: object) -> None:
    path = notebook(tmp_path, {"kernelspec": {"name": "mine"}})
    specs = Specs({"haienv": said}, mine=[made(tmp_path / "venv", "pyvenv.cfg")])
    assert submission(path, specs) == {"env": {"HAI_VENV": str(tmp_path / "venv")}}


@pytest.mark.parametrize("name", ["users/ann/vision", "groups/cv/vision", "base/torch"])
def test_a_kernel_of_a_draft_names_the_environment_whose_draft_the_form_freezes(tmp_path: Path, name: str) -> None:
    path = notebook(tmp_path, {"kernelspec": {"name": "mine"}})
    specs = Specs(mine=[made(tmp_path / name / "draft" / "prefix", "pyvenv.cfg")])
    assert "env" in submission(path, specs), "a folder of that name is no draft yet"
    (tmp_path / name / "draft" / "from").write_text("3\n")
    assert submission(path, specs) == {"environment": name}
