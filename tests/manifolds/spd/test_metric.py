"""The three metrics alike: identities, stacks, precision, gradients, array libraries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from samples.matrices import EPS, METRICS, every_metric, every_size, sample

from geoduel._numerics.symmetric import unpack
from geoduel.errors import NotOnManifoldError
from geoduel.manifolds.spd import SPD


@every_metric
@every_size
def test_exp_log_and_transport_fit_together(metric, n):
    spd, x, y, v, w = sample(20, n, metric)
    tol = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(spd.log(x, spd.exp(x, v)), v, **tol)
    np.testing.assert_allclose(spd.exp(x, spd.log(x, y)), y, **tol)
    np.testing.assert_allclose(spd.dist(x, y), spd.norm(x, spd.log(x, y)), **tol)
    np.testing.assert_allclose(spd.dist(x, y), spd.dist(y, x), **tol)
    a, b = spd.transport(x, y, v), spd.transport(x, y, w)
    np.testing.assert_allclose(spd.inner(y, a, b), spd.inner(x, v, w), **tol)
    np.testing.assert_allclose(spd.transport(x, y, spd.log(x, y)), -spd.log(y, x), **tol)
    np.testing.assert_allclose(spd.transport(y, x, a), v, **tol)
    along = spd.transport_along(x, v, w)
    end = spd.exp(x, v)
    np.testing.assert_allclose(along, spd.transport(x, end, w), **tol)
    np.testing.assert_allclose(spd.inner(end, along, along), spd.inner(x, w, w), **tol)
    g = np.random.default_rng(21).standard_normal(x.shape)
    np.testing.assert_allclose(
        spd.inner(x, spd.riemannian_gradient(x, g), v), np.sum(g * v, axis=(-2, -1)), **tol
    )


@every_metric
def test_to_the_last_bit(metric):
    spd, x, y, v, w = sample(22, 4, metric)
    for scale in (1e-4, 1.0, 1e4):
        a, b, u = scale * x, scale * y, scale * v
        for result in (
            spd.exp(a, u),
            spd.exp(a[0], u[0]),
            spd.geodesic(a, u)(-0.3),
            spd.log(a, b),
            spd.transport(a, b, u),
            spd.transport_along(a, u, scale * w),
            spd.unit_tangent(np.random.default_rng(0), a),
            spd.random_point(np.random.default_rng(0), (3,)),
            spd.riemannian_gradient(a, w + 1),
        ):
            np.testing.assert_array_equal(result, result.mT)
        np.testing.assert_array_equal(spd.exp(a, 0 * u), a)
        np.testing.assert_array_equal(spd.exp(a[0], 0 * u[0]), a[0])
        np.testing.assert_array_equal(spd.geodesic(a, u)(0.0), a)
        np.testing.assert_array_equal(spd.dist(a, a), 0)
        np.testing.assert_array_equal(spd.log(a, a), 0)
        assert spd.dist(a[0], a[0]) == 0


@every_metric
def test_leading_axes_broadcast(metric):
    spd, x, y, v, w = sample(23, 3, metric, (4,))
    t = np.array([0.0, 0.5, 1.0, -1.0])
    along = spd.geodesic(x[0], v[0])(t)
    np.testing.assert_allclose(along, spd.exp(x[0], v[0] * t[:, None, None]), atol=1e-14)
    ends = [spd.geodesic(x[i], v[i])(t[i]) for i in range(4)]
    np.testing.assert_allclose(spd.geodesic(x, v)(t), ends, rtol=0, atol=1e-14)
    assert spd.dist(x[:, None], y).shape == (4, 4)
    assert spd.log(x[0], y).shape == spd.log(x, y[0]).shape == (4, 3, 3)
    assert spd.inner(x[0], v, w[0]).shape == (4,)
    assert spd.transport(x[0], y, v[0]).shape == (4, 3, 3)
    assert spd.transport_along(x[0], v[0], w).shape == (4, 3, 3)
    assert spd.unit_tangent(np.random.default_rng(0), x, (2, 5)).shape == (2, 5, 4, 3, 3)
    none = x[:0]
    assert spd.exp(none, v[0]).shape == spd.log(none, y[0]).shape == (0, 3, 3)
    assert spd.dist(none, y[0]).shape == (0,)


@every_metric
def test_dist_from_is_dist(metric):
    spd, x, y, _, _ = sample(24, 4, metric)
    np.testing.assert_array_equal(spd.dist_from(x)(y[0]), spd.dist(x, y[0]))
    assert spd.dist_from(x[0])(y[0]) == spd.dist(x[0], y[0])
    steep = np.stack([x[0], np.diag([1.0, 1e-3, 1e-3, 1e-6])])
    one_by_one = [spd.dist(a, y[0]) for a in steep]
    np.testing.assert_allclose(spd.dist_from(steep)(y[0]), one_by_one, rtol=1e-9)
    np.testing.assert_array_equal(spd.dist_from(steep)(steep), 0)


@every_metric
def test_unit_tangents_are_uniform_at_an_elongated_point(metric):
    """Second moments δᵢⱼ / d in orthonormal coordinates found by Gram-Schmidt, at diag(100, 1).

    The fourth moments of a uniform direction, d = 3: variances 4/45 of cᵢ² and 1/15 of cᵢcⱼ.
    """
    spd, x, draws = SPD(2, metric=metric), np.diag([100.0, 1.0]), 20_000
    basis = np.array([[[1.0, 0], [0, 0]], [[0, 0], [0, 1.0]], [[0, 1.0], [1.0, 0]]])
    basis = basis / spd.norm(x, basis)[:, None, None]  # orthogonal at a diagonal x, all metrics
    gram = spd.inner(x, basis[:, None], basis)
    np.testing.assert_allclose(gram, np.eye(3), atol=1e-14)
    u = spd.unit_tangent(np.random.default_rng(25), x, (draws,))
    np.testing.assert_allclose(spd.norm(x, u), 1, rtol=1e-13)
    c = spd.inner(x, u[:, None], basis)
    deviation = np.abs(c.T @ c / draws - np.eye(3) / 3) * math.sqrt(draws)
    assert np.all(deviation < 4.5 * np.sqrt(np.where(np.eye(3), 4 / 45, 1 / 15)))
    assert np.all(np.abs(np.mean(c, axis=0)) * math.sqrt(3 * draws) < 4.5)


@every_metric
def test_coordinates_are_isometric(metric):
    spd, x, _, v, w = sample(26, 3, metric)
    c = spd.to_coords(x, v)
    assert c.shape == (20, spd.dim)
    np.testing.assert_allclose(np.vecdot(c, spd.to_coords(x, w)), spd.inner(x, v, w), atol=1e-15)
    np.testing.assert_allclose(spd.from_coords(x, c), v, atol=1e-14)


@pytest.mark.parametrize(
    ("metric", "shape", "steps"),
    [
        ("affine-invariant", (), 20_000),
        ("affine-invariant", (3,), 1_000),
        ("log-euclidean", (), 1_000),
        ("bures-wasserstein", (), 400),
    ],
)
def test_long_walks_do_not_drift(metric, shape, steps):
    """Along a geodesic and back by the transported velocity, again and again."""
    spd, rng = SPD(3, metric=metric), np.random.default_rng(27)
    x = start = spd.random_point(rng, shape)
    ways = 0.1 * spd.unit_tangent(rng, x, (10,))
    for k in range(steps // 2):
        v = ways[k % 10]
        y = spd.exp(x, v)
        x = spd.exp(y, -spd.transport_along(x, v, v))
    np.testing.assert_array_equal(x, x.mT)
    assert np.all(spd.dist(start, x) < 2 * steps * EPS)
    spd.check_point(x)


@every_metric
def test_float32(metric):
    spd, *arrays = sample(28, 4, metric)
    x, y, v, w = (a.astype(np.float32) for a in arrays)
    bound = 2e-5
    rng = np.random.default_rng(0)
    for f in (
        lambda x, y, v, w: spd.exp(x, v),
        lambda x, y, v, w: spd.exp(x[0], v[0]),
        lambda x, y, v, w: spd.log(x, y),
        lambda x, y, v, w: spd.log(x[0], y[0]),
        lambda x, y, v, w: spd.dist(x, y),
        lambda x, y, v, w: spd.inner(x, v, w),
        lambda x, y, v, w: spd.transport(x, y, v),
        lambda x, y, v, w: spd.transport_along(x, v, w),
        lambda x, y, v, w: spd.to_coords(x, v),
        lambda x, y, v, w: spd.riemannian_gradient(x, w),
    ):
        single, double = f(x, y, v, w), f(*arrays)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, rtol=bound, atol=bound)
    assert spd.unit_tangent(rng, x).dtype == spd.random_point(rng, (2,), x).dtype == np.float32
    np.testing.assert_array_equal(spd.exp(x, 0 * v), x)


@every_metric
def test_inputs_are_not_written_to(metric):
    spd, x, y, v, w = sample(29, 3, metric)
    for a in (x, y, v, w):
        a.flags.writeable = False
    for _ in range(2):
        spd.exp_pair(x, v)
        spd.log(x, y)
        spd.dist(x, y)
        spd.inner(x, v, w)
        spd.transport(x, y, v)
        spd.transport_along(x, v, w)
        spd.from_coords(x, spd.to_coords(x, v))
        spd.to_manifold(x)
        spd.check_point(x)
        spd.check_tangent(x, v)
        x, y, v, w = x[0], y[0], v[0], w[0]


@every_metric
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_lost_problem_leaves_the_others_alone(metric, library):
    """Leading axes are independent: NaN in one of them stays there."""
    spd, x, y, v, w = sample(30, 3, metric, (3,))
    for a in (x, y, v, w):
        a[1] = np.nan
    kind = np.asarray if library == "numpy" else pytest.importorskip("torch").from_numpy
    calls = (
        lambda x, y, v, w: spd.exp(x, v),
        lambda x, y, v, w: spd.log(x, y),
        lambda x, y, v, w: spd.dist(x, y),
        lambda x, y, v, w: spd.transport(x, y, v),
        lambda x, y, v, w: spd.transport_along(x, v, w),
        lambda x, y, v, w: spd.to_coords(x, v),
    )
    for call in calls:
        result = np.asarray(call(*map(kind, (x, y, v, w))))
        assert np.isnan(result[1]).all()
        one = np.asarray(call(*(kind(a[2]) for a in (x, y, v, w))))
        np.testing.assert_allclose(result[2], one, rtol=0, atol=1e-13)


# -- array libraries and gradients -----------------------------------------------------------------


@every_metric
def test_torch_agrees_with_numpy(metric):
    torch = pytest.importorskip("torch")
    spd, *arrays = sample(40, 4, metric)
    tensors = [torch.from_numpy(a) for a in arrays]
    for f in (
        lambda x, y, v, w: spd.exp(x, v),
        lambda x, y, v, w: spd.exp(x[0], v[0]),
        lambda x, y, v, w: spd.exp(x, 20 * v @ v),
        lambda x, y, v, w: spd.log(x, y),
        lambda x, y, v, w: spd.log(x[0], 1e-6 * y[0] + y[1]),
        lambda x, y, v, w: spd.dist(x, y),
        lambda x, y, v, w: spd.norm(x, v),
        lambda x, y, v, w: spd.transport(x, y, v),
        lambda x, y, v, w: spd.transport_along(x, v, w),
        lambda x, y, v, w: spd.from_coords(x, spd.to_coords(x, v)),
        lambda x, y, v, w: spd.unit_tangent(np.random.default_rng(0), x, (2,)),
        lambda x, y, v, w: spd.random_point(np.random.default_rng(0), (2,), x),
        lambda x, y, v, w: spd.riemannian_gradient(x, w),
        lambda x, y, v, w: spd.to_manifold(x),
    ):
        ours = f(*tensors)
        assert isinstance(ours, torch.Tensor)
        assert ours.dtype == torch.float64
        np.testing.assert_allclose(ours.numpy(), f(*arrays), rtol=1e-12, atol=1e-12)
    with pytest.raises(NotOnManifoldError, match="smallest eigenvalue is -1"):
        spd.dist(torch.diag(torch.tensor([1.0, 1.0, 1.0, -1.0])), torch.eye(4))


def functions(spd):
    return {
        "exp": lambda x, y, v: spd.exp(x, v),
        "log": lambda x, y, v: spd.log(x, y),
        "dist": lambda x, y, v: spd.dist(x, y),
        "norm": lambda x, y, v: spd.norm(x, v),
        "transport": lambda x, y, v: spd.transport(x, y, v),
        "transport_along": lambda x, y, v: spd.transport_along(x, v, v @ v),
    }


@every_metric
@pytest.mark.parametrize("name", ["exp", "log", "dist", "norm", "transport", "transport_along"])
@pytest.mark.parametrize("case", ["generic", "stack", "degenerate", "far"])
def test_gradients_are_those_of_finite_differences(metric, name, case):
    """In coordinates of x, y, v, so that all stay symmetric. Degenerate: x = y = I, v = 0."""
    torch = pytest.importorskip("torch")
    if metric == "bures-wasserstein" and "transport" in name and case in ("stack", "far"):
        pytest.skip("seconds of integration; the generic case tests the same")
    spd = SPD(2, metric=metric)
    rng = np.random.default_rng(41)
    batch = (2,) if case == "stack" else ()
    x, y = (torch.from_numpy(spd.random_point(rng, batch)) for _ in range(2))
    v = 0.3 * torch.from_numpy(spd.unit_tangent(rng, x.numpy()))
    if case == "degenerate":
        x = y = torch.eye(2, dtype=torch.float64)
        v = torch.zeros(2, 2, dtype=torch.float64)
        if name in ("dist", "norm"):
            pytest.skip("not differentiable where it is zero")
    if case == "far":
        v, y = 9 * v, 400 * y
        v = v @ v if metric == "bures-wasserstein" else v  # away from the boundary
    f = functions(spd)[name]

    def of_coords(a, b, c):
        return f(x + unpack(a, 2), y + unpack(b, 2), v + unpack(c, 2))

    zeros = [torch.zeros(*batch, 3, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    atol = 1e-7 * max(1, float(f(x, y, v).abs().max()))
    assert torch.autograd.gradcheck(of_coords, zeros, eps=1e-6, atol=atol, rtol=1e-5)


@every_metric
def test_gradients_are_finite_where_it_is_zero(metric):
    torch = pytest.importorskip("torch")
    spd = SPD(3, metric=metric)
    x = torch.eye(3, dtype=torch.float64, requires_grad=True)
    v = torch.zeros(3, 3, dtype=torch.float64, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    for f in functions(spd).values():
        for inputs in ((x, y, v), (x[None], y[None], v[None])):
            grads = torch.autograd.grad(f(*inputs).sum(), (x, y, v), allow_unused=True)
            assert all(torch.isfinite(g).all() for g in grads if g is not None)


def test_gradients_along_a_geodesic():
    """d/dt exp(x, tv) at t = 0 is v, also for t from torch."""
    torch = pytest.importorskip("torch")
    for metric in METRICS:
        spd, x, _, v, _ = sample(42, 3, metric, ())
        t = torch.zeros((), dtype=torch.float64, requires_grad=True)
        curve = spd.geodesic(torch.from_numpy(x), torch.from_numpy(v))(t)
        (slope,) = torch.autograd.grad(curve[0, 1], t)
        assert float(slope) == pytest.approx(v[0, 1], rel=1e-12)


@every_metric
def test_array_api_strict(metric):
    strict = pytest.importorskip("array_api_strict")
    spd, *arrays = sample(43, 3, metric, (2,))
    x, y, v, w = (strict.asarray(a) for a in arrays)
    for result, expected in [
        (spd.exp(x, v), spd.exp(arrays[0], arrays[2])),
        (spd.log(x, y), spd.log(arrays[0], arrays[1])),
        (spd.dist(x, y), spd.dist(arrays[0], arrays[1])),
        (spd.transport(x, y, w), spd.transport(arrays[0], arrays[1], arrays[3])),
        (spd.to_coords(x, v), spd.to_coords(arrays[0], arrays[2])),
        (spd.from_coords(x, spd.to_coords(x, v)), arrays[2]),
        (spd.to_manifold(x), arrays[0]),
    ]:
        np.testing.assert_allclose(np.asarray(result), expected, rtol=0, atol=1e-13)
