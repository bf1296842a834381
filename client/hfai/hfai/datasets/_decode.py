"""Decodes the bytes of a sample without running code from them."""

from __future__ import annotations

import collections
import io
import json
import pickle
from typing import Any

import numpy as np

_JPEG, _PNG = b"\xff\xd8\xff", b"\x89PNG\r\n"
_NPY, _NPZ, _PICKLE = b"\x93NUMPY", b"PK\x03\x04", b"\x80"


def decode(raw: Any) -> Any:
    """Decode a sample by its first bytes.

    A JPEG or PNG becomes a PIL image in RGB; .npy an array; .npz (`numpy.savez`) the tuple of its arrays in order; a
    pickle plain data and arrays; JSON (of a list or an object) its value. Any other sample stays bytes.

    Raises:
        pickle.UnpicklingError: A pickle has more than plain data and arrays.
        ValueError: The sample is damaged.
    """
    data = bytes(raw)
    if data.startswith((_JPEG, _PNG)):
        return _image(data)
    if data.startswith(_NPY):
        return np.load(io.BytesIO(data), allow_pickle=False)
    if data.startswith(_NPZ):
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return tuple(arrays[name] for name in arrays.files)
    if data.startswith(_PICKLE):
        value = read_plain_pickle(data)
        # Pictures are often kept encoded within.
        return tuple(_inner(part) for part in value) if isinstance(value, tuple) else _inner(value)
    if data[:1] in (b"[", b"{"):
        try:
            return json.loads(data.decode("utf-8"))
        except ValueError:
            return data
    return data


def read_plain_pickle(data: bytes) -> Any:
    """Read a pickle of numbers, texts, bytes, containers and NumPy arrays. Raises pickle.UnpicklingError."""
    return _Plain(io.BytesIO(data)).load()


def _inner(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray)) and bytes(value[:6]).startswith((_JPEG, _PNG)):
        return _image(bytes(value))
    return value


def _image(data: bytes) -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("the samples are pictures, and Pillow is not installed: pip install pillow") from None
    with Image.open(io.BytesIO(data)) as image:
        return image.convert("RGB")


def _allowed() -> dict[tuple[str, str], Any]:
    """What a pickle may name: makers of containers and of arrays, which run nothing that is in it."""
    scalar = np.float64(0).__reduce__()[0]
    found: dict[tuple[str, str], Any] = {
        ("collections", "OrderedDict"): collections.OrderedDict,
        ("_codecs", "encode"): _bytes_of_text,
        ("numpy", "ndarray"): _ArrayType,
        ("numpy", "dtype"): np.dtype,
    }
    for kind in (set, frozenset, bytearray, complex):
        # Protocol 2 has the module's name of Python 2.
        found["builtins", kind.__name__] = found["__builtin__", kind.__name__] = kind
    for module in ("numpy.core.multiarray", "numpy._core.multiarray"):
        found[module, "_reconstruct"] = _empty
        found[module, "scalar"] = scalar
    for module in ("numpy.core.numeric", "numpy._core.numeric"):
        found[module, "_frombuffer"] = _of_buffer
    return found


class _ArrayType:
    """What stands for the type of arrays, which a pickle may name but not call."""


def _empty(kind: Any, _shape: Any, _dtype: Any) -> Any:
    """An array that the pickle then fills."""
    if kind is not _ArrayType:
        raise pickle.UnpicklingError("the pickle makes an array of another type; only plain arrays are read")
    return np.empty(0, np.int8)


def _of_buffer(data: Any, dtype: Any, shape: Any, order: str) -> Any:
    """An array of the bytes given, as pickles of protocol 5 hold them."""
    flat: Any = np.frombuffer(data, dtype=dtype)
    return flat.reshape(shape, order=order)


def _bytes_of_text(text: str, encoding: str) -> bytes:
    """How pickles of protocol 2 hold bytes."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes in the encoding {encoding!r}; only latin1 is known")
    return text.encode("latin1")


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Only what is known to be harmless. Raises pickle.UnpicklingError."""
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"the pickle names {module}.{name}, and only plain data and NumPy arrays are read; store the sample as "
                ".npy, .npz, JSON, or as the bytes of a picture"
            ) from None


_ALLOWED = _allowed()
