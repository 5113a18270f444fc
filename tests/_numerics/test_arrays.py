"""What every file shares: namespaces, numbers of one vector, series near zero."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from geoduel._numerics import arrays
from geoduel._numerics.arrays import (
    arc_over_sin,
    at_zero,
    constant,
    cos_sinc,
    cosh_sinhc,
    dot,
    eps,
    expand,
    fails,
    holds,
    host,
    namespace,
    normal,
    on_host,
    safe_sqrt,
    surely,
    vectors,
    where,
)

EPS = np.finfo(float).eps
RNG = np.random.default_rng


# -- namespaces and kinds --------------------------------------------------------------------------


def test_namespace_is_numpy_itself_for_numpy_arrays_and_numbers():
    for a in (np.ones(2), np.float64(1), np.float32(1), 1.0):
        assert namespace(a) is np
    assert namespace(np.ones(2), 0.5) is np


def test_namespace_of_other_libraries():
    torch = pytest.importorskip("torch")
    strict = pytest.importorskip("array_api_strict")
    assert namespace(torch.ones(2)).__name__.endswith("torch")
    assert namespace(torch.ones(2), 0.5) is namespace(torch.ones(2), torch.ones(3))
    assert namespace(strict.ones(2)) is strict
    with pytest.raises(TypeError):
        namespace(torch.ones(2), strict.ones(2))
    with pytest.raises(TypeError):
        namespace("no array")


@pytest.mark.parametrize(("dtype", "bits"), [(np.float16, 10), (np.float32, 23), (np.float64, 52)])
def test_eps_is_the_gap_after_one(dtype, bits):
    assert eps(np.ones(2, dtype)) == 2.0**-bits


def test_expand_lets_numbers_scale_points():
    a = np.array([2.0, 3.0])
    assert (expand(a, 2) * np.ones((2, 4, 5)))[1].min() == 3
    assert expand(a, 0) is a
    assert expand(0.5, 3) == 0.5
    assert expand(True, 3) is True


def test_host_reads_what_lies_elsewhere():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        a = host(torch.ones(3, dtype=dtype, requires_grad=True))
        assert isinstance(a, np.ndarray)
        assert a.tolist() == [1, 1, 1]


def test_numpy_and_torch_see_the_same_gaussian_numbers():
    torch = pytest.importorskip("torch")
    expected = RNG(0).standard_normal((2, 3))
    np.testing.assert_array_equal(normal(RNG(0), (2, 3)), expected)
    np.testing.assert_array_equal(normal(RNG(0), (2, 3), np.ones(1)), expected)
    like = torch.ones(1, dtype=torch.float64)
    np.testing.assert_array_equal(normal(RNG(0), (2, 3), like).numpy(), expected)
    for dtype in (np.float16, np.float32):
        assert normal(RNG(0), (2,), np.ones(1, dtype)).dtype == dtype


# -- numbers, one a problem ------------------------------------------------------------------------


def test_dot_of_one_pair_is_a_float_and_of_stacks_one_number_a_row():
    u, v = RNG(1).standard_normal((2, 5, 7))
    assert type(dot(u[0], v[0])) is float
    np.testing.assert_allclose(dot(u, v), np.sum(u * v, axis=-1), rtol=1e-14)
    np.testing.assert_allclose(dot(u[0], v), v @ u[0], rtol=1e-14)
    assert dot(u[0].astype(np.float32), v[0].astype(np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match=r"core dimension"):
        dot(u[0], v[0, :3])


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_dot_of_other_libraries(library):
    xp = pytest.importorskip(library)
    u, v = RNG(2).standard_normal((2, 5, 7))
    result = dot(xp.asarray(u), xp.asarray(v))
    np.testing.assert_allclose(np.from_dlpack(result), dot(u, v), rtol=1e-14)


def test_vectors_are_two_of_one_length_in_doubles():
    u = np.ones(3)
    assert vectors(u, np.zeros(3))
    for v in (np.ones(4), np.ones((1, 3)), np.ones(3, np.float32), [1.0, 1.0, 1.0]):
        assert not vectors(u, v)


def test_where_chooses_between_whole_arrays_for_a_bool():
    a, b = np.ones(2), np.zeros(2)
    assert where(True, a, b) is a
    assert where(False, a, b) is b
    np.testing.assert_array_equal(where(np.array([True, False]), a, b), [1, 0])


def test_at_zero_chooses_one_by_one():
    a, b = np.array([5.0, 6.0]), np.array([7.0, 8.0])
    np.testing.assert_array_equal(at_zero(np.array([0.0, 1e-300]), a, b), [5, 8])
    np.testing.assert_array_equal(at_zero(np.ones(2), a, b), b)
    assert at_zero(0.0, 1.0, 2.0) == 1
    assert at_zero(1e-300, 1.0, 2.0) == 2


def test_surely_asks_only_what_is_at_hand():
    torch = pytest.importorskip("torch")
    assert surely(True)
    assert surely(np.bool(True))
    assert surely(np.ones(3) > 0)
    assert surely(np.ones(0) > 0)
    for doubtful in (False, np.bool(False), np.arange(3) > 0, torch.ones(3) > 0):
        assert not surely(doubtful)


def test_scipy_is_loaded_by_the_first_call_only():
    assert arrays.blas() is arrays.blas()
    assert arrays.blas().ddot(np.ones(3), np.ones(3)) == 3


# -- smooth at zero --------------------------------------------------------------------------------

SMOOTH = {
    "cos": (lambda t2: cos_sinc(t2)[0], math.cos),
    "sinc": (lambda t2: cos_sinc(t2)[1], lambda t: math.sin(t) / t if t else 1.0),
    "cosh": (lambda t2: cosh_sinhc(t2)[0], math.cosh),
    "sinhc": (lambda t2: cosh_sinhc(t2)[1], lambda t: math.sinh(t) / t if t else 1.0),
}
TIMES = np.array([0.0, 1e-160, 1e-8, 1e-4, 0.1, 1.0, 3.0, 10.0])


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("times", [TIMES, TIMES[2:]], ids=["zero", "no zero"])
def test_even_functions_of_the_square(name, times):
    f, exact = SMOOTH[name]
    expected = [exact(t) for t in times]
    # The square and its root turn t by a rounding unit, hence the angle.
    tolerance = {"rtol": 16 * EPS, "atol": 16 * EPS}
    np.testing.assert_allclose(f(times**2), expected, **tolerance)
    np.testing.assert_allclose([f(float(t) ** 2) for t in times], expected, **tolerance)


@pytest.mark.parametrize(("name", "slope"), [("cos", -1 / 2), ("sinc", -1 / 6), ("cosh", 1 / 2)])
def test_slopes_at_zero_are_those_of_the_series(name, slope):
    torch = pytest.importorskip("torch")
    t2 = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    SMOOTH[name][0](t2).sum().backward()
    assert t2.grad.tolist() == [slope, slope]


def test_arc_over_sin_from_a_squared_chord():
    theta = np.array([0.0, 1e-160, 1e-9, 0.3, 1.5, 3.0])
    expected = [t / math.sin(t) if t else 1.0 for t in theta]
    chord2 = 4 * np.sin(theta / 2) ** 2
    np.testing.assert_allclose(arc_over_sin(chord2), expected, rtol=1e-14)
    np.testing.assert_allclose([arc_over_sin(float(m)) for m in chord2], expected, rtol=1e-14)


def test_the_root_of_zero_has_slope_zero():
    torch = pytest.importorskip("torch")
    a = torch.tensor([0.0, 4.0], dtype=torch.float64, requires_grad=True)
    safe_sqrt(a).sum().backward()
    assert a.grad.tolist() == [0, 0.25]
    assert safe_sqrt(2.25) == 1.5
    assert float(safe_sqrt(np.float64(Fraction(9, 4)))) == 1.5


def test_conditions_that_a_transformation_hides():
    class Hidden:
        """An array that refuses to say anything, as batches under vmap do."""

        def __array_namespace__(self, api_version=None):
            raise TypeError("the numbers are not known yet")

    assert holds(np.array([True, True]), False)
    assert not holds(np.array([True, False]), True)
    assert [holds(Hidden(), hidden) for hidden in (True, False)] == [True, False]
    assert not fails(Hidden())
    assert fails(np.array([False]))


def test_constants_are_made_once():
    made = []
    make = constant(lambda n: made.append(n) or np.arange(n))
    assert make(3) is make(3)
    assert made == [3]


def test_by_way_of_numpy():
    torch = pytest.importorskip("torch")
    a = torch.ones(2, dtype=torch.float32)
    found = on_host(lambda x: 2 * x, a)
    assert found.dtype == torch.float32
    assert found.tolist() == [2.0, 2.0]
