"""Reads the arrays of a model file, each checked for what it must be before anything is made of it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from audit.errors import AuditError
from audit.sizing.model_file import Arrays, damaged


class Stored:
    """The arrays of a model whose names begin with `prefix`; AuditError where one is missing or not as it must be."""

    def __init__(self, arrays: Arrays, where: str, prefix: str = "") -> None:
        self.arrays, self.where, self.prefix = arrays, where, prefix

    def get(self, name: str, dtype: type, *shape: int | None) -> NDArray[Any]:
        """An array of this type and shape (None: any length); numbers in it are finite."""
        array = self.arrays.get(self.prefix + name)
        if array is None:
            raise self.wrong(f"lacks {self.prefix}{name}")
        fits = array.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))
        if array.dtype != dtype or not fits or (array.dtype.kind == "f" and not np.isfinite(array).all()):
            raise self.wrong(f"its {self.prefix}{name} cannot be")
        return array

    def sorted_hashes(self, name: str) -> NDArray[np.uint64]:
        """Numbers of groups, in order."""
        found = self.get(name, np.uint64, None)
        if (found[1:] < found[:-1]).any():
            raise self.wrong(f"its {self.prefix}{name} are not in order")
        return found

    def wrong(self, what: str) -> AuditError:
        """The error that says so of this model."""
        return damaged(self.where, what)
