"""Match specifications of conda: which forms there are, what their names and channels are, and what is none."""

from __future__ import annotations

import pytest

from haienv.shared.errors import Wrong
from haienv.store.conda_spec import check_conda, name_of, parts


def address(channel: str) -> str:
    return f"https://c.example/{channel}"


@pytest.mark.parametrize(
    ("text", "name", "at"),
    [
        ("numpy", "numpy", "numpy"),
        ("NumPy=2.1", "numpy", "NumPy=2.1"),
        ("_libgcc_mutex=0.1=conda_forge", "_libgcc_mutex", "_libgcc_mutex=0.1=conda_forge"),
        ("__glibc>=2.17", "__glibc", "__glibc>=2.17"),
        ("python=3.11.9=hb806964_0_cpython", "python", "python=3.11.9=hb806964_0_cpython"),
        ("python==3.11.9", "python", "python==3.11.9"),
        ("python 3.11.* *_cpython", "python", "python 3.11.* *_cpython"),
        ("numpy >=1.8 , <2", "numpy", "numpy >=1.8 , <2"),
        ("numpy~=1.11", "numpy", "numpy~=1.11"),
        ("numpy=1.8|1.9", "numpy", "numpy=1.8|1.9"),
        ("foo (>=1.0)", "foo", "foo (>=1.0)"),
        ("x264=1!161.3030", "x264", "x264=1!161.3030"),
        ("numpy=", "numpy", "numpy"),
        ("blas=*=openblas", "blas", "blas=*=openblas"),
        ("pytorch=2.1.0=py3.11_cuda12.1_cudnn8.9.2_0", "pytorch", "pytorch=2.1.0=py3.11_cuda12.1_cudnn8.9.2_0"),
        ("ruamel_yaml", "ruamel_yaml", "ruamel_yaml"),
        ("ruamel.yaml", "ruamel.yaml", "ruamel.yaml"),
        ("conda-forge::numpy >=2", "numpy", "https://c.example/conda-forge::numpy >=2"),
        ("conda-forge/linux-64::zlib==1.2=h_0", "zlib", "https://c.example/conda-forge/linux-64::zlib==1.2=h_0"),
        ("conda-forge/label/dev::x", "x", "https://c.example/conda-forge/label/dev::x"),
        ("numpy[version='>=1,<2', build=\"py*\"]", "numpy", "numpy[version='>=1,<2', build=\"py*\"]"),
        ("numpy[version=1.2,channel=conda-forge]", "numpy", "https://c.example/conda-forge::numpy[version=1.2]"),
        ("numpy=1[channel='conda-forge/noarch']", "numpy", "https://c.example/conda-forge/noarch::numpy=1"),
        ("zlib[md5=1234567890abcdef1234567890abcdef]", "zlib", "zlib[md5=1234567890abcdef1234567890abcdef]"),
    ],
)
def test_a_specification_has_a_name_and_perhaps_a_channel(text: str, name: str, at: str) -> None:
    assert check_conda(f" {text} ") == text
    assert name_of(text) == name
    assert parts(text).at(address) == at


@pytest.mark.parametrize(
    "text",
    ["", "=1", "-x", ".x", "*", "*[license=MIT]", "x\ny", "x'y", "numpy[", "numpy]", "conda-forge::", "x;python<3",
     "!x", "x\0"],
)  # fmt: skip
def test_what_is_none_is_named_with_the_forms_that_are_read(text: str) -> None:
    with pytest.raises(Wrong, match=r"^conda: .* is not a package of conda; write for example numpy=2.1, numpy=2.1=py"):
        check_conda(text)


def test_the_address_of_one_file_is_refused_as_an_explicit_list_is() -> None:
    with pytest.raises(Wrong, match="is the address of a file for one platform; write the package's name and version"):
        check_conda("https://conda.anaconda.org/conda-forge/linux-64/zlib-1.2.13-h4ab18f5_6.conda")
