"""Methods by name, and the start of a run."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.errors import ArgumentError, NotOnManifoldError
from geoduel.methods.named import METHODS, OTHER_NAMES, named, start_point

DISC = gd.Ball(gd.Euclidean(2), np.zeros(2), 1.0)


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("name", METHODS)
def test_a_name_gives_a_method_on_its_domain(name):
    domain = None if name == "order-acd" else DISC  # its steps are not projected
    method = named(name, domain)
    assert type(method) is METHODS[name]
    assert method.domain is domain


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_other_names_are_of_the_same_methods(name):
    assert named(name, options={"batch": 3}) == named(OTHER_NAMES[name], options={"batch": 3})
    assert name not in METHODS


def test_an_instance_stays_itself_without_a_domain():
    method = gd.RDNGD(batch=3)
    assert named(method) is method
    on_disc = named(method, DISC)
    assert (on_disc.batch, on_disc.domain) == (3, DISC)


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        ("newton", {}, "method must be one of 'auto', .* got 'newton'"),
        (
            "rdngd",
            {"batches": 2},
            "method 'rdngd' has no option 'batches', perhaps batch= is meant; it takes step_size",
        ),
        ("rdngd", {"total": 2}, "no option 'total'"),
        ("rdngd", {"batch": 0}, "batch must be an integer >= 1"),
        (gd.RDNGD(), {"batch": 2}, r"options \['batch'\] go with a method given by name"),
        (gd.RDNGD, {}, r"an instance such as RDNGD\(\), got the class RDNGD"),
        (None, {}, "a name or a method that inherits from geoduel.Method, got None"),
    ],
)
def test_what_is_wrong_is_named(method, options, words):
    with pytest.raises(ArgumentError, match=words):
        named(method, options=options)


def test_lengths_may_be_the_injectivity_radius_and_no_more():
    sphere = gd.Sphere(3)
    start_point(gd.DuelNewton(x_tol=np.pi), sphere, np.eye(3)[0], rng())
    with pytest.raises(ArgumentError, match=r"x_tol must be at most 3\.142"):
        start_point(gd.DuelNewton(x_tol=np.nextafter(np.pi, 4)), sphere, np.eye(3)[0], rng())


def test_a_random_start_is_in_the_domain():
    small = gd.Ball(gd.Euclidean(2), np.full(2, 9.0), 0.1)
    _, x = start_point(gd.RDNGD(domain=small), gd.Euclidean(2), None, rng())
    assert np.linalg.norm(x - 9) <= 0.1


def test_without_a_start_methods_for_people_start_in_the_middle_and_know_nothing():
    """Nearest to it in the domain; with a start they expect the ideal about it."""
    for method, manifold in ((gd.Bisection(), gd.Rotations(2)), (gd.IdealPoint(), gd.Sphere(3))):
        found, x0 = start_point(method, manifold, None, rng())
        assert np.array_equal(x0, manifold.origin())
        assert (method.prior_radius, found.prior_radius) == (None, np.inf)
        assert start_point(method, manifold, x0, rng())[0] is method
    south = gd.Ball(gd.Sphere(3), np.array([-1.0, 0.0, 0.0]), 0.5)
    method, x0 = start_point(gd.IdealPoint(domain=south), gd.Sphere(3), None, rng())
    assert (method.domain, method.prior_radius) == (south, np.inf)
    assert south.contains(x0)


def test_rounding_is_corrected_in_a_copy():
    x0 = np.array([0.6, 0.8]) * (1 + 1e-10)
    _, x = start_point(gd.RDNGD(), gd.Sphere(2), x0, rng())
    assert abs(np.linalg.norm(x) - 1) < 1e-15
    assert x0[0] != 0.6


def test_a_start_may_require_gradients():
    torch = pytest.importorskip("torch")
    x0 = torch.tensor([1.0, 0.0], requires_grad=True)
    assert not start_point(gd.RDNGD(), gd.Sphere(2), x0, rng())[1].requires_grad


@pytest.mark.parametrize(
    ("manifold", "x0", "domain", "error", "words"),
    [
        (gd.Sphere(2), np.ones(2), None, NotOnManifoldError, "x0 is not on"),
        (gd.Euclidean(2), np.full(2, 2.0), DISC, ArgumentError, "x0 is not in the domain"),
        (gd.Euclidean(3), None, DISC, ArgumentError, r"points of shape \(2,\); expected \(3,\)"),
        (gd.Euclidean(2), None, 3, ArgumentError, r"domain must be a Domain .*, got 3"),
    ],
)
def test_a_wrong_start_is_named(manifold, x0, domain, error, words):
    with pytest.raises(error, match=words):
        start_point(gd.RDNGD(domain=domain), manifold, x0, rng())


def test_a_start_outside_by_rounding_is_taken_inside():
    """The test of a function alone may fail there, as that of a logarithm does."""
    box = gd.Box(np.zeros(2), np.ones(2))
    _, x0 = start_point(gd.RDNGD(domain=box), gd.Euclidean(2), [0.5, 1 + 1e-9], rng())
    np.testing.assert_array_equal(x0, [0.5, 1.0])


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_a_start_of_another_dtype_is_named(dtype):
    """In long double a run called itself one that diverges."""
    if np.dtype(dtype) == np.float64:
        pytest.skip("no longer than a double here")
    with pytest.raises(ArgumentError, match="x0 must be of float32 or float64, got float"):
        start_point(gd.RDNGD(), gd.Euclidean(2), np.ones(2, dtype), np.random.default_rng(0))
