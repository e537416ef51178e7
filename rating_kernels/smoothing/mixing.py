"""Anderson acceleration of a fixed-point iteration x <- g(x).

Source: Anderson, "Iterative procedures for nonlinear integral equations" (Journal of the ACM 12, 1965), in the form of
Walker and Ni, "Anderson acceleration for fixed-point iterations" (SIAM Journal on Numerical Analysis 49, 2011).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.standings import Floats

DEPTH = 5  # differences of past iterates; in single precision, since they affect only the next step
_SINGULAR = 1e-12  # of the largest singular value: such combinations of differences are not used


class Mixing:
    """The last iterates of x <- g(x)."""

    def __init__(self) -> None:
        self._residuals: list[npt.NDArray[np.float32]] = []
        self._images: list[npt.NDArray[np.float32]] = []
        self._last: tuple[Floats, Floats] | None = None

    def mix(self, x: Floats, image: Floats) -> Floats:
        """The next x, given x and its ``image`` g(x): the combination of past images whose residual is smallest.

        Overwrites x and the image before this one, so that five differences and four arrays are all of the memory.
        """
        residual = image - x
        if self._last is None:
            self._last = residual, image
            return image
        space, past = self._last
        self._last = residual, image
        del self._residuals[: 1 - DEPTH], self._images[: 1 - DEPTH]
        self._images.append(np.subtract(image, past, out=past).astype(np.float32))
        del past
        self._residuals.append(np.subtract(residual, space, out=space).astype(np.float32))
        products = np.zeros((len(self._residuals), len(self._residuals)))
        for i, a in enumerate(self._residuals):
            for j, b in enumerate(self._residuals[: i + 1]):
                products[i, j] = products[j, i] = _dot(a, b, space)
        right = np.array([_dot(a, residual, space) for a in self._residuals])
        share = np.linalg.lstsq(products, right, rcond=_SINGULAR)[0]
        x[:] = image
        for part, difference in zip(share, self._images, strict=True):
            x -= np.multiply(part, difference, out=space, dtype=np.float64)
        return x


def _dot(a: npt.NDArray[np.floating], b: npt.NDArray[np.floating], space: Floats) -> float:
    """Scalar product, summed in an order that does not depend on the number of threads."""
    return float(np.sum(np.multiply(a, b, out=space, dtype=np.float64)))
