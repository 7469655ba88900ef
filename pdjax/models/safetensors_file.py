"""One safetensors file: what it holds, and blocks of it.

The format is eight bytes of length, a JSON header of that length, and the
tensors' bytes (huggingface/safetensors). The header is checked against the
file's size, so a truncated download is found before anything is loaded.
Blocks are read with plain reads: mapped pages would count as memory in use.
"""

import dataclasses
import json
import math
import pathlib

import ml_dtypes
import numpy as np

from pdjax.models.unfit import unfit

DTYPES = {
    "F32": np.dtype(np.float32),
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16),
}
"""What weights may be stored as."""

_HEADER_BYTES = 100_000_000
"""The format's own limit."""

_READ_BYTES = 16 << 20
"""Read at a time where only some columns are wanted."""


@dataclasses.dataclass(frozen=True, slots=True)
class Tensor:
  """A tensor's entry in the header."""

  dtype: str
  shape: tuple[int, ...]
  offset: int
  """Of its first byte in the file."""


class SafetensorsFile:
  """An open file; nothing but its header is kept.

  Raises:
    ConfigError: it cannot be read, or is not whole.
  """

  def __init__(self, path: pathlib.Path):
    self.path = path
    try:
      self.tensors = _entries(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
      raise unfit(
          path, f"is no whole safetensors file ({_reason(error)})"
      ) from error

  def block(
      self, name: str, rows: slice, columns: slice | None
  ) -> np.ndarray:
    """Rows and columns of a matrix, or entries of a vector, as stored.

    Slices have a start and a stop, and step one.
    """
    tensor = self.tensors[name]
    width = tensor.shape[1] if columns else 1
    whole = slice(0, width)
    if columns is None or columns == whole:
      found = self._rows(tensor, rows, width)
      return found if columns else found[:, 0]
    step = max(1, _READ_BYTES // (width * DTYPES[tensor.dtype].itemsize))
    parts = [
        self._rows(tensor, slice(at, min(at + step, rows.stop)), width)[
            :, columns
        ].copy()
        for at in range(rows.start, rows.stop, step)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)

  def _rows(self, tensor: Tensor, rows: slice, width: int) -> np.ndarray:
    dtype = DTYPES[tensor.dtype]
    count = (rows.stop - rows.start) * width
    found = np.fromfile(
        self.path, np.uint8, count * dtype.itemsize,
        offset=tensor.offset + rows.start * width * dtype.itemsize,
    )
    return found.view(dtype).reshape(-1, width)


def _entries(path: pathlib.Path) -> dict[str, Tensor]:
  """The header's tensors.

  Raises:
    ValueError: the file is not what its header says.
  """
  size = path.stat().st_size
  with path.open("rb") as file:
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, _HEADER_BYTES):
      raise ValueError(f"{size} bytes cannot hold its header")
    header = json.loads(file.read(length))
  header.pop("__metadata__", None)
  found, end = {}, 8 + length
  for name, entry in header.items():
    begin, stop = entry["data_offsets"]
    tensor = Tensor(entry["dtype"], tuple(entry["shape"]), 8 + length + begin)
    dtype = DTYPES.get(tensor.dtype)
    wanted = math.prod(tensor.shape) * (dtype.itemsize if dtype else 0)
    if dtype and wanted != stop - begin:
      raise ValueError(f"{name} has {stop - begin} bytes, not {wanted}")
    found[name], end = tensor, max(end, 8 + length + stop)
  if size < end:
    raise ValueError(f"it has {size} of {end} bytes")
  return found


def _reason(error: Exception) -> str:
  """Of a header that is no JSON or lacks a key, without its inside."""
  if isinstance(error, OSError):
    return error.strerror or str(error)
  if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | KeyError):
    return "its header is damaged"
  return str(error)
