"""Every domain under whatever comes in: points of the set, nearest and least, or a typed error."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples.points import LAYOUTS, corner, laid_out, usual
from samples.sets import DOMAINS

from geoduel.errors import GeoduelError


@st.composite
def problems(draw):
    """A domain, points anywhere, a point of the set, a vector of any size there, a generator."""
    domain = DOMAINS[draw(st.sampled_from(sorted(DOMAINS)))]
    m, dtype = domain.manifold, draw(st.sampled_from([np.float64, np.float32]))
    lead = draw(st.sampled_from([(), (1,), (3,), (2, 1), (0,)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    place = draw(st.sampled_from(["usual", "corner", "near", "inside"]))
    y = (corner if place == "corner" else usual)(m, rng, lead, dtype)
    if place == "near":  # to the boundary
        y = domain.project(y)
        y = m.exp(y, dtype(10.0 ** draw(st.integers(-12, -1))) * m.unit_tangent(rng, y))
    elif place == "inside":
        y = domain.project(y)
    x = domain.project(usual(m, rng, lead, dtype))
    power = draw(st.one_of(st.integers(-30, 30), st.integers(-2, 2)))
    h = (10.0 ** float(power) * m.unit_tangent(rng, x)).astype(dtype)
    if draw(st.integers(0, 9)) == 0:
        h = 0 * h
    return domain, laid_out(y, draw(st.sampled_from(LAYOUTS))), x, h, rng


def sound(domain, y, x, h, rng):
    """Projections and linear minimisers lie in the set, and no other point of it is better."""
    m, unit = domain.manifold, float(np.finfo(y.dtype).eps)
    tol = 20 * np.sqrt(unit)
    before = y.copy(), x.copy(), h.copy()
    others = [domain.project(usual(m, rng, y.shape[: y.ndim - len(m.point_shape)], y.dtype))]
    with suppress(GeoduelError):
        p, outside = domain.project(y), np.asarray(domain.violation(y))
        assert p.shape == y.shape
        assert p.dtype == y.dtype
        assert np.all(np.isfinite(p))
        assert np.all(domain.contains(p))
        assert np.max(m.point_defect(p)[1], initial=0.0) < np.sqrt(unit)
        inside = np.asarray(domain.contains(y))
        assert np.all(outside >= 0)
        assert np.all(inside <= (outside <= tol))
        if domain.has_nearest:
            for other in others:
                assert np.all(m.dist(y, p) <= m.dist(y, other) * (1 + tol) + tol)
    with suppress(GeoduelError):
        z = domain.linear_minimizer(x, h)
        assert z.shape == x.shape
        assert z.dtype == x.dtype
        assert np.all(np.isfinite(z))
        assert np.all(domain.contains(z))
        assert np.max(m.point_defect(z)[1], initial=0.0) < np.sqrt(unit)
        least, size = m.inner(x, h, m.log(x, z)), m.norm(x, h)
        for other in others:
            assert np.all(least <= m.inner(x, h, m.log(x, other)) + tol * size * (1 + m.dist(x, z)))
    for a, b in zip((y, x, h), before, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=100)
@given(problems())
def test_whatever_comes_in_the_set_is_kept_to(problem):
    sound(*problem)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=5_000)
@given(problems())
def test_whatever_comes_in_the_set_is_kept_to_at_length(problem):
    sound(*problem)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_what_is_not_finite_is_in_no_set(name):
    """Nothing of NaN is projected on a point of the set, and no error is NumPy's."""
    domain = DOMAINS[name]
    m, rng = domain.manifold, np.random.default_rng(0)
    x = domain.project(m.random_point(rng))
    for bad in (np.nan, np.inf, -np.inf):
        y = x.copy()
        y.flat[0] = bad
        assert not np.any(domain.contains(y))
        with suppress(GeoduelError):  # a vertex of a polytope needs no x
            domain.linear_minimizer(y, 0 * y)
        with suppress(GeoduelError):  # the nearest point of a box to infinity is a corner
            found = domain.project(y)
            assert not (np.isnan(bad) and np.all(np.isfinite(found)) and domain.contains(found))
