"""Manifolds that are others of the package, under the names by which they are known."""

from __future__ import annotations

from .._support.check import positive, positive_int
from .euclidean import Euclidean
from .product import Power, Product
from .rotations import Rotations
from .sphere import Sphere

__all__ = ["SE", "ComplexSphere", "Oblique"]


def SE(n: int, weight: float = 1.0) -> Product:
    """Poses of a rigid body in n dimensions: a rotation beside a translation.

    The product ``Product(Rotations(n), Euclidean(n))`` with names. Its metric is invariant under
    changes of the world frame; of the metrics of the group SE(n) none is so under those of both
    frames. Geodesics turn with constant angular velocity and move along straight lines.

    Parameters
    ----------
    n : int
        Dimensions of space.
    weight : float
        How much a squared unit of length counts beside a squared radian.

    References
    ----------
    Park, Distance metrics on the rigid-body motions with applications to mechanism design, Journal
    of Mechanical Design 117 (1995).

    Examples
    --------
    >>> poses = SE(2)
    >>> poses.unpack(poses.origin())
    {'rotation': array([[1., 0.],
           [0., 1.]]), 'translation': array([0., 0.])}
    """
    n = positive_int(n, "SE n", least=2)
    weights = (1.0, positive(weight, "SE weight"))
    return Product(Rotations(n), Euclidean(n), weights=weights, names=("rotation", "translation"))


def Oblique(n: int, k: int) -> Power:
    """Matrices of k rows that are unit vectors of Rⁿ: ``Power(Sphere(n), k)``.

    Elsewhere the unit vectors may be the columns.

    Parameters
    ----------
    n : int
        Entries of each unit vector.
    k : int
        Number of unit vectors.

    References
    ----------
    Absil and Gallivan, Joint diagonalization on the oblique manifold for independent component
    analysis, ICASSP 2006.

    Examples
    --------
    >>> Oblique(3, 4).point_shape
    (4, 3)
    """
    return Power(Sphere(positive_int(n, "Oblique n", least=2)), positive_int(k, "Oblique k"))


def ComplexSphere(n: int) -> Sphere:
    """Unit vectors of Cⁿ, as real arrays: ``Sphere(n, 2)``.

    A point x stands for ``x[..., 0] + 1j * x[..., 1]``, since points are real everywhere in this
    package. Vectors that differ by a phase are different points; where the phase means nothing, as
    for quantum states, every optimum is a circle of them.

    Parameters
    ----------
    n : int
        Complex entries.

    Examples
    --------
    >>> import numpy as np
    >>> x = ComplexSphere(3).random_point(0)
    >>> z = x @ [1, 1j]
    >>> bool(np.isclose(np.vdot(z, z).real, 1))
    True
    """
    return Sphere(positive_int(n, "ComplexSphere n"), 2)
