"""Unitary matrices: against complex arithmetic, and the sphere that SU(2) is."""

import numpy as np
import pytest
import scipy.linalg

import geoduel as gd
from geoduel.errors import ArgumentError, NotOnManifoldError

U3 = gd.Unitary(3)


def test_geodesics_are_exponentials_of_complex_matrices():
    x = U3.random_point(0)
    v = 0.7 * U3.unit_tangent(1, x)
    matrix, velocity = U3.complex(x), U3.complex(v)
    end = matrix @ scipy.linalg.expm(matrix.conj().T @ velocity)
    np.testing.assert_allclose(U3.complex(U3.exp(x, v)), end, atol=1e-14)
    assert U3.norm(x, v) == pytest.approx(0.7)


def test_the_distance_is_the_length_of_the_angles():
    x, y = U3.random_point(2, (2,))
    angles = np.angle(np.linalg.eigvals(U3.complex(x).conj().T @ U3.complex(y)))
    assert U3.dist(x, y) == pytest.approx(np.linalg.norm(angles), rel=1e-12)


def test_su2_is_a_sphere_of_radius_sqrt_two():
    """Quaternions (a, b) are the matrices [[a, -b*], [b, a*]]; curvature 1/2."""
    u2, sphere = gd.Unitary(2), gd.Sphere(4)

    def matrix(q):
        a, b = q[0] + 1j * q[1], q[2] + 1j * q[3]
        return u2.real(np.array([[a, -b.conjugate()], [b, a.conjugate()]]))

    p, q = sphere.random_point(3, (2,))
    assert u2.dist(matrix(p), matrix(q)) == pytest.approx(np.sqrt(2) * sphere.dist(p, q))


def test_the_nearest_unitary_is_the_polar_factor():
    rng = np.random.default_rng(4)
    a = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    np.testing.assert_allclose(
        U3.complex(U3.to_manifold(U3.real(a))), scipy.linalg.polar(a)[0], atol=1e-13
    )
    with pytest.raises(NotOnManifoldError):
        U3.to_manifold(np.zeros((3, 3, 2)))


def test_bad_sizes_are_refused():
    with pytest.raises(ArgumentError, match="Unitary n must be an integer >= 1"):
        gd.Unitary(0)


def test_the_default_finds_a_gate_up_to_a_phase():
    """An objective that cannot see the phase has circles of optima, and one of them is found."""
    gates = gd.Unitary(2)
    hadamard = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    oracle = gd.from_objective(lambda x: -abs(np.vdot(hadamard, gates.complex(x))))
    result = gd.minimize(oracle, gates, gates.origin(), budget=300, rng=0)
    assert abs(np.vdot(hadamard, gates.complex(result.x))) > 2 - 1e-4
