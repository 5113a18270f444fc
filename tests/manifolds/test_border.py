"""Lists, whole numbers, seeds, tuples and dictionaries do what the arrays they stand for do."""

# pyright: reportAssignmentType=false

import numpy as np
import pytest

import geoduel as gd
from geoduel import errors
from geoduel.errors import ArgumentError
from geoduel.manifolds._border import as_array, own_border

WHOLE = {  # points, and a tangent vector at the first, of whole numbers
    gd.Euclidean(2): ([1, 2], [3, -1], [1, 1]),
    gd.Sphere(3): ([1, 0, 0], [0, 1, 0], [0, 0, 2]),
    gd.SPD(2): ([[1, 0], [0, 1]], [[2, 1], [1, 3]], [[1, 2], [2, 0]]),
    gd.SPD(2, "log-euclidean"): ([[1, 0], [0, 1]], [[2, 1], [1, 3]], [[1, 2], [2, 0]]),
    gd.Rotations(3): (
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0, -1, 0], [1, 0, 0], [0, 0, 1]],
        [[0, 1, 0], [-1, 0, 0], [0, 0, 0]],
    ),
    gd.Stiefel(3, 2): (
        [[1, 0], [0, 1], [0, 0]],
        [[0, -1], [1, 0], [0, 0]],
        [[0, 0], [0, 0], [1, 2]],
    ),
    gd.Grassmann(3, 1): ([[1], [0], [0]], [[1], [0], [0]], [[0], [1], [1]]),
    gd.Hyperbolic(2): ([1, 0, 0], [1, 0, 0], [0, 1, 2]),
    gd.Torus(2): ([0, 1], [2, -1], [1, 1]),
    gd.manifolds.Line(1, 9, ratios=True): ([2], [3], [1]),
    gd.Power(gd.Sphere(2), 2): ([[1, 0], [0, 1]], [[0, 1], [0, 1]], [[0, 1], [1, 0]]),
    gd.Product(gd.Sphere(2), gd.Euclidean(1)): ([1, 0, 5], [0, 1, 3], [0, 1, 2]),
}
METHODS = {
    "inner": lambda m, x, y, v: m.inner(x, v, v),
    "norm": lambda m, x, y, v: m.norm(x, v),
    "dist": lambda m, x, y, v: m.dist(x, y),
    "exp": lambda m, x, y, v: m.exp(x, v),
    "geodesic": lambda m, x, y, v: m.geodesic(x, v)(0.3),
    "exp_pair": lambda m, x, y, v: m.exp_pair(x, v)[1],
    "extent": lambda m, x, y, v: m.extent(x, v),
    "room": lambda m, x, y, v: m.room(x),
    "log": lambda m, x, y, v: m.log(x, y),
    "transport": lambda m, x, y, v: m.transport(x, y, v),
    "transport_along": lambda m, x, y, v: m.transport_along(x, v, v),
    "to_coords": lambda m, x, y, v: m.to_coords(x, v),
    "from_coords": lambda m, x, y, v: m.from_coords(x, [1] * m.dim),
    "to_tangent": lambda m, x, y, v: m.to_tangent(x, v),
    "riemannian_gradient": lambda m, x, y, v: m.riemannian_gradient(x, v),
    "to_manifold": lambda m, x, y, v: m.to_manifold(x),
    "unit_tangent": lambda m, x, y, v: m.unit_tangent(3, x),
    "random_geodesic": lambda m, x, y, v: m.random_geodesic(3, x)(0.2),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("manifold", WHOLE, ids=repr)
def test_lists_and_whole_numbers_mean_arrays_of_doubles(manifold, method):
    call, given = METHODS[method], WHOLE[manifold]
    doubles = call(manifold, *(np.array(a, dtype=float) for a in given))
    for same in (given, [np.array(a) for a in given], [np.array(a, dtype=np.int8) for a in given]):
        found = call(manifold, *same)
        np.testing.assert_array_equal(found, doubles)
        assert np.asarray(found).dtype == np.float64


@pytest.mark.parametrize("manifold", WHOLE, ids=repr)
def test_a_seed_stands_for_its_generator(manifold):
    x = manifold.random_point(5, (2,))
    np.testing.assert_array_equal(x, manifold.random_point(np.random.default_rng(5), (2,)))
    assert manifold.random_point().shape == manifold.point_shape
    u = manifold.unit_tangent(5, x, (3,))
    np.testing.assert_array_equal(u, manifold.unit_tangent(np.random.default_rng(5), x, (3,)))
    with pytest.raises(ArgumentError, match="rng must be an int >= 0"):
        manifold.random_point(-1)


def test_arrays_of_other_kinds_pass():
    torch = pytest.importorskip("torch")
    sphere = gd.Sphere(3)
    assert sphere.dist(np.float32([1, 0, 0]), np.float32([0, 1, 0])).dtype == np.float32
    x, y = torch.tensor([1.0, 0, 0]), torch.tensor([0.0, 1, 0])
    assert sphere.exp(x, y).dtype == torch.float32
    assert sphere.dist(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0])).dtype == torch.float64


def test_arguments_may_be_named():
    sphere = gd.Sphere(3)
    assert sphere.dist(x=[1, 0, 0], y=[1, 0, 0]) == 0
    assert sphere.random_point(rng=0, batch=(2,)).shape == (2, 3)
    assert sphere.unit_tangent(rng=0, x=[1, 0, 0]).shape == (3,)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("abc", "y must be an array of real numbers, or lists of them, got str: 'abc'"),
        ([1, [2, 3]], "y must be an array of real numbers"),
        ([1j, 0, 0], "y must be an array of real numbers"),
        ([True, False, False], "y must be an array of real numbers"),
        (None, "y must be an array of real numbers, .* got NoneType"),
        ([1, 0], r"y has shape \(2,\), expected \(\.\.\., 3\) for Sphere"),
    ],
)
def test_what_holds_no_numbers_is_named(bad, words):
    with pytest.raises(ArgumentError, match=words):
        gd.Sphere(3).dist([1, 0, 0], bad)


def test_checks_and_domains_take_lists():
    sphere = gd.Sphere(3)
    sphere.check_point([1, 0, 0])
    sphere.check_tangent([1, 0, 0], [0, 2, 0])
    with pytest.raises(errors.NotOnManifoldError, match="start is not on"):
        sphere.check_point([1, 0, 1], "start")
    ball = gd.Ball(sphere, [1, 0, 0], 0.5)
    assert ball.contains([1, 0, 0])
    assert not ball.contains([0, 1, 0])
    assert ball.project([1, 0, 0]).tolist() == [1.0, 0.0, 0.0]
    pair = gd.Product(sphere, gd.Euclidean(1), names=["way", "size"])
    assert pair.split({"way": [1, 0, 0], "size": 2})[1].tolist() == [2.0]


def test_an_own_manifold_gets_the_border_for_free():
    class Plane(gd.Manifold):
        dim, point_shape = 2, (2,)

        def inner(self, x, u, v):
            return np.vecdot(u, v)

        def exp(self, x, v):
            return x + v

        def log(self, x, y):
            return y - x

        def to_tangent(self, x, a):
            return a

        def to_manifold(self, a):
            return a

    plane = Plane()
    np.testing.assert_array_equal(plane.exp([1, 2], [3, 4]), [4.0, 6.0])
    assert plane.dist([0, 0], [3, 4]) == 5
    assert Plane.inner.__name__ == "inner"


def test_a_method_may_see_to_its_border_itself():
    assert own_border(len_of := lambda self, x: len(x)) is len_of
    assert len_of.own_border


@pytest.mark.parametrize("name", ["norm", "exp", "exp_pair", "extent", "transport"])
def test_what_follows_from_other_operations_leaves_the_border_to_them(name):
    """To look at arguments twice would take as long as the work on small points."""
    assert getattr(gd.Manifold, name).own_border


@pytest.mark.parametrize("name", ["geodesic", "random_geodesic"])
def test_quick_ways_look_at_their_arguments_themselves(name):
    assert getattr(gd.Sphere, name).own_border


def test_arrays_are_not_copied():
    x = np.ones(3, dtype=np.float32)
    assert as_array(x) is x


@pytest.mark.parametrize("m", [m for m in WHOLE if m.point_shape != (1,)], ids=repr)
def test_arrays_of_wrong_shapes_are_named(m):
    """Where numbers of another shape cannot be used; and leading axes that do not fit together."""
    x, wrong = m.random_point(0, (2,)), np.ones((2, *(n + 1 for n in m.point_shape)))
    u = m.unit_tangent(0, x)
    for name, call in {
        "y": lambda: m.dist(x, wrong),
        "v": lambda: m.exp(x, wrong),
        "u": lambda: m.inner(x, wrong, u),
        "x": lambda: m.log(wrong, x),
        "c": lambda: m.from_coords(x, np.ones((2, m.dim + 2))),
    }.items():
        with pytest.raises(ArgumentError, match=rf"^{name} has shape \(2, .*expected \(\.\.\., "):
            call()
    three = m.random_point(0, (3,))
    for call in (lambda: m.dist(x, three), lambda: m.log(x, three), lambda: m.exp(three, u)):
        with pytest.raises(ArgumentError, match=r"^the leading axes do not broadcast: \([23],"):
            call()


def test_batches_are_tuples_or_numbers_and_may_be_empty():
    sphere = gd.Sphere(3)
    assert sphere.random_point(0, (0,)).shape == (0, 3)
    assert sphere.random_point(0, [2, 1]).shape == (2, 1, 3)
    np.testing.assert_array_equal(sphere.random_point(0, 3), sphere.random_point(0, (3,)))
    with pytest.raises(ArgumentError, match=r"batch must be a tuple of integers such as \(3,\)"):
        sphere.random_point(0, 3.0)
    with pytest.raises(ArgumentError, match="batch must be"):
        sphere.random_point(0, (-1,))


def test_errors_of_a_method_stay_where_its_arguments_fit():
    class Odd(gd.Euclidean):
        def exp(self, x, v):
            raise RuntimeError("of its own")

    x = np.ones(2)
    for args in ((x, x), ([1, 1], x), (np.ones((3, 1, 2)), np.ones((5, 2)))):
        with pytest.raises(RuntimeError, match="of its own"):
            Odd(2).exp(*args)
    with pytest.raises(ArgumentError, match=r"do not broadcast: \(3,\) of x and \(5,\) of v"):
        Odd(2).exp(np.ones((3, 2)), np.ones((5, 2)))
    with pytest.raises(ArgumentError, match=r"v has shape \(1,\), expected \(\.\.\., 2\)"):
        Odd(2).exp(x, np.ones(1))


SHORTER_AND_LONGER = (lambda a: a[..., :-1], lambda a: np.concatenate([a, a], axis=-1))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("wrong", SHORTER_AND_LONGER, ids=["shorter", "longer"])
@pytest.mark.parametrize("m", [m for m in WHOLE if m.point_shape != (1,)], ids=repr)
def test_arrays_that_share_a_wrong_shape_are_named(m, wrong, method):
    """The formulas would give a number for most of them."""
    given = [wrong(np.array(a, dtype=float)) for a in WHOLE[m]]
    for arrays in (given, [a.astype(np.float32) for a in given], [np.stack([a, a]) for a in given]):
        with pytest.raises(ArgumentError, match=r"^[a-z] has shape \(.*expected \(\.\.\., "):
            METHODS[method](m, *arrays)


@pytest.mark.parametrize("kind", [complex, bool, object, str])
@pytest.mark.parametrize("m", WHOLE, ids=repr)
def test_arrays_of_other_kinds_than_real_numbers_are_named(m, kind):
    x, y, v = (np.array(a).astype(kind) for a in WHOLE[m])
    for method in ("dist", "exp", "inner", "to_manifold", "to_tangent"):
        with pytest.raises(ArgumentError, match="must be an array of real numbers"):
            METHODS[method](m, x, y, v)


@pytest.mark.parametrize("m", WHOLE, ids=repr)
def test_tensors_are_looked_at_like_arrays(m):
    torch = pytest.importorskip("torch")
    given = [torch.as_tensor(np.array(a, dtype=float)) for a in WHOLE[m]]
    for method in ("dist", "exp", "inner", "to_manifold", "to_tangent"):
        for odd in (torch.complex128, torch.bool):
            with pytest.raises(ArgumentError, match="must be an array of real numbers"):
                METHODS[method](m, *(a.to(odd) for a in given))
        with pytest.raises(ArgumentError, match=r"^[a-z] has shape \(.*expected \(\.\.\., "):
            METHODS[method](m, *(torch.cat([a, a], dim=-1) for a in given))


@pytest.mark.parametrize(
    "method", ["norm", "inner", "geodesic", "to_coords", "to_tangent", "riemannian_gradient"]
)
@pytest.mark.parametrize("m", WHOLE, ids=repr)
def test_leading_axes_of_a_point_that_is_not_needed_are_looked_at(m, method):
    x, _, v = (np.array(a, dtype=float) for a in WHOLE[m])
    call, two, three = METHODS[method], np.stack([x, x]), np.stack([v, v, v])
    with pytest.raises(ArgumentError, match=r"^the leading axes do not broadcast: \(2,\) of x"):
        call(m, two, None, three)
    assert np.shape(call(m, two, None, v[None]))[0] == 2 or method != "geodesic"
    call(m, x, None, three)


def test_leading_axes_of_coordinates_are_looked_at():
    plane = gd.Euclidean(2)
    with pytest.raises(ArgumentError, match=r"\(2,\) of x and \(3,\) of c"):
        plane.from_coords(np.ones((2, 2)), np.ones((3, 2)))
