"""Anderson acceleration of a fixed-point iteration x <- g(x).

Source: Anderson, "Iterative procedures for nonlinear integral equations" (Journal of the ACM 12, 1965), in the form of
Walker and Ni, "Anderson acceleration for fixed-point iterations" (SIAM Journal on Numerical Analysis 49, 2011).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.standings import Floats

__all__ = ["DEPTH", "Mixing"]

DEPTH = 5  # differences of past iterates; in single precision, since they affect only the next step
_SINGULAR = 1e-12  # of the largest singular value: such combinations of differences are not used


class Mixing:
    """The last iterates of x <- g(x)."""

    def __init__(self) -> None:
        self._residuals: list[npt.NDArray[np.float32]] = []
        self._images: list[npt.NDArray[np.float32]] = []
        self._last: tuple[Floats, Floats] | None = None

    def mix(self, x: Floats, image: Floats) -> Floats:
        """The next x, given x and its ``image`` g(x): the combination of past images whose residual is smallest."""
        residual = image - x
        if self._last is not None:
            self._residuals.append((residual - self._last[0]).astype(np.float32))
            self._images.append((image - self._last[1]).astype(np.float32))
            del self._residuals[:-DEPTH], self._images[:-DEPTH]
        self._last = residual, image
        if not self._residuals:
            return image
        products = np.array([[_dot(a, b) for b in self._residuals] for a in self._residuals])
        right = np.array([_dot(a, residual) for a in self._residuals])
        share = np.linalg.lstsq(products, right, rcond=_SINGULAR)[0]
        mixed = image.copy()
        for part, difference in zip(share, self._images, strict=True):
            mixed -= part * difference
        return mixed


def _dot(a: npt.NDArray[np.floating], b: npt.NDArray[np.floating]) -> float:
    """Scalar product, summed in an order that does not depend on the number of threads."""
    return float(np.sum(np.multiply(a, b, dtype=np.float64)))
