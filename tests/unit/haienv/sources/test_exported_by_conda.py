"""Files as conda, mamba and micromamba export them: all that these write is read, or refused with a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from haienv.shared.errors import Wrong
from haienv.sources import conda_list
from haienv.sources.reading import kind_of
from haienv.sources.source import Source
from unit.haienv.sources.files_kit import read, write

#: `conda env export`.
WHOLE = """\
name: train
channels:
  - pytorch
  - conda-forge
  - nodefaults
dependencies:
  - _libgcc_mutex=0.1=conda_forge
  - _openmp_mutex=4.5=2_gnu
  - ca-certificates=2024.2.2=hbcca054_0
  - libblas=3.9.0=16_linux64_mkl
  - openssl=1.1.1w=h7f8727e_0
  - python=3.11.9=hb806964_0_cpython
  - pytorch=2.1.0=py3.11_cuda12.1_cudnn8.9.2_0
  - tzdata=2024a=h0c530f3_0
  - x264=1!161.3030=h7f98852_1
  - pip:
      - --extra-index-url https://download.example/whl/cu121
      - six==1.16.0
      - torchinfo==1.8.0 ; python_version >= '3.9'
variables:
  OMP_NUM_THREADS: '4'
prefix: /home/ann/miniconda3/envs/train
"""
#: `conda env export --from-history`, `--no-builds`, and `micromamba env export --channel-subdir`.
ASKED = "name: train\nchannels:\n- conda-forge\ndependencies:\n- python=3.11\n- numpy\nprefix: /opt/envs/train\n"
NO_BUILDS = "name: train\nchannels:\n- conda-forge\ndependencies:\n- _libgcc_mutex=0.1\n- python=3.11.9\n"
OF_CHANNELS = (
    "name: train\nchannels:\n- conda-forge\ndependencies:\n- conda-forge/linux-64::zlib=1.2.13=h4ab18f5_6\n"
    "- conda-forge::six[version='1.16.0', build='pyh6c4a22f_0']\n- python==3.11.9\n"
)
AS_JSON = """{
  "name": "train",
  "channels": ["conda-forge"],
  "dependencies": ["python=3.11.9=hb806964_0_cpython", {"pip": ["six==1.16.0"]}],
  "prefix": "/home/ann/miniconda3/envs/train"
}
"""
#: `conda list --export`.
LISTED = """\
# This file may be used to create an environment using:
# $ conda create --name <env> --file <this file>
# platform: linux-64
# created-by: conda 24.5.0
_libgcc_mutex=0.1=conda_forge
python=3.11.9=hb806964_0_cpython
six=1.16.0=pypi_0
toml=0.10.2=<pip>
"""
#: `conda export --format requirements`.
REQUIREMENTS = """\
# This file may be used to create an environment using:
# $ conda create --name <env> --file <this file>
# platform: linux-64
# created-by: conda 25.9.0
# Note: This is a conda requirements file, not a pip requirements file
pytorch::pytorch==2.1.0=py3.11_cuda12.1_cudnn8.9.2_0
zlib==1.2.13=h4ab18f5_6
"""


@pytest.fixture(autouse=True)
def _on_linux_64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conda_list, "platform_here", lambda: "linux-64")


@pytest.mark.parametrize(
    ("name", "text", "source"),
    [
        ("environment.yml", WHOLE, Source(
            requirements=("six==1.16.0", "torchinfo==1.8.0 ; python_version >= '3.9'"),
            indexes=("https://download.example/whl/cu121",),
            conda=(
                "_libgcc_mutex=0.1=conda_forge", "_openmp_mutex=4.5=2_gnu", "ca-certificates=2024.2.2=hbcca054_0",
                "libblas=3.9.0=16_linux64_mkl", "openssl=1.1.1w=h7f8727e_0", "python=3.11.9=hb806964_0_cpython",
                "pytorch=2.1.0=py3.11_cuda12.1_cudnn8.9.2_0", "tzdata=2024a=h0c530f3_0",
                "x264=1!161.3030=h7f98852_1",
            ),
            channels=("pytorch", "conda-forge", "nodefaults"),
            variables={"OMP_NUM_THREADS": "4"},
        )),
        ("environment.yml", ASKED, Source(conda=("python=3.11", "numpy"), channels=("conda-forge",))),
        ("environment.yml", NO_BUILDS, Source(
            conda=("_libgcc_mutex=0.1", "python=3.11.9"), channels=("conda-forge",),
        )),
        ("environment.yml", OF_CHANNELS, Source(
            conda=(
                "conda-forge/linux-64::zlib=1.2.13=h4ab18f5_6",
                "conda-forge::six[version='1.16.0', build='pyh6c4a22f_0']", "python==3.11.9",
            ),
            channels=("conda-forge",),
        )),
        ("environment.json", AS_JSON, Source(
            requirements=("six==1.16.0",), conda=("python=3.11.9=hb806964_0_cpython",), channels=("conda-forge",),
        )),
        ("packages.txt", LISTED, Source(
            requirements=("six==1.16.0", "toml==0.10.2"),
            conda=("_libgcc_mutex=0.1=conda_forge", "python=3.11.9=hb806964_0_cpython"), channels=("conda-forge",),
        )),
        ("packages.txt", REQUIREMENTS, Source(
            conda=("pytorch::pytorch==2.1.0=py3.11_cuda12.1_cudnn8.9.2_0", "zlib==1.2.13=h4ab18f5_6"),
            channels=("conda-forge",),
        )),
        ("packages.txt", "zlib=1.2.13=h4ab18f5_6\n", Source(
            conda=("zlib=1.2.13=h4ab18f5_6",), channels=("conda-forge",),
        )),
    ],
)  # fmt: skip
def test_what_conda_exports_is_read(tmp_path: Path, name: str, text: str, source: Source) -> None:
    assert read(write(tmp_path, name, text)) == source


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("list.txt", LISTED.replace("linux-64", "osx-arm64"), "line 3: platform: .*osx-arm64.*--from-history"),
        ("list.txt", LISTED + "=1=2\n", "line 9: conda: '=1=2' is not a package of conda"),
        ("list.txt", "@EXPLICIT\nhttps://c/linux-64/zlib-1-0.conda#1\n", "micromamba env export"),
        ("list.txt", "# platform: linux-64\n@EXPLICIT\nhttps://c/zlib-1-0.conda\n", "an explicit list of conda"),
        (
            "e.yml",
            "dependencies:\n- python=3.11\n- x[optional=true]\n",
            "line 3: conda: .*optional.*; write for",
        ),
        ("e.yml", "dependencies:\n- numpy==\n", "line 2: conda: 'numpy==' cannot be read: .*; write for example"),
        ("e.yml", "dependencies:\n- https://c/zlib-1-0.conda\n", "line 2: conda: .* is the address of a file"),
        ("e.yml", "dependencies:\n- x\n- pip:\n  - -e ../mine\n", "line 4: requirement: .* is an editable install"),
        ("e.yml", "dependencies:\n- x\n- pip:\n  - --no-binary x\n", "line 4: --no-binary: this option is not"),
        ("e.yml", "dependencies:\n- x\n- pip:\n  - -r https://h/r.txt\n", "line 4: -r: .* is an address, .*download"),
        ("r.txt", "-c https://h/c.txt\n", "line 1: -c: .* is an address, .*download the file, and name it here"),
    ],
)
def test_what_cannot_be_made_again_is_refused_with_its_line_and_a_remedy(
    tmp_path: Path, name: str, text: str, says: str
) -> None:
    pytest.importorskip("rattler", reason="packages of conda need the extra conda")
    path = write(tmp_path, name, text)
    with pytest.raises(Wrong, match=f"(?s)^{path}.*{says}"):
        read(path)


@pytest.mark.parametrize("line", ["numpy==1.2", "numpy===1.2", "numpy>=1,<=2", "x @ https://h/x.whl?a=b=c"])
def test_a_requirement_of_pip_is_no_line_of_a_list_of_conda(line: str) -> None:
    assert kind_of(Path("x.txt"), f"{line}\n") == "requirements"
