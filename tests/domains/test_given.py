"""What callers write for a set: bounds, dictionaries, functions, named parameters."""

from functools import partial

import numpy as np
import pytest
from scipy import optimize

import geoduel as gd
from geoduel.domains.given import as_domain, as_place
from geoduel.errors import ArgumentError, EmptySetError, GeoduelError
from geoduel.manifolds import Line

SOUND = gd.space(gain=(-12, 12), mix=gd.Simplex(3), angle=gd.Torus(1))


def test_parts_of_a_space():
    cap = gd.Ball(gd.Sphere(3), np.array([0.0, 0.0, 1.0]), 0.5)
    hz = gd.Interval(20, 20e3, log=True, unit="Hz")
    space = gd.space(
        gain=(-12, 12),
        pair=np.array([0, 1]),
        freq=hz,
        mix=gd.Simplex(3),
        tilt=cap,
        at=(gd.Euclidean(2), [(0, 1), (None, 3)]),
        far=(gd.Euclidean(1), lambda x: bool(x[0] > 2)),
    )
    names = ("gain", "pair", "freq", "mix", "tilt", "at", "far")
    assert space.manifold.names == names
    domains = dict(zip(names, space.domains, strict=True))
    factors = dict(zip(names, space.manifold.factors, strict=True))
    assert factors["gain"] == Line(-12, 12)
    assert domains["freq"] is hz
    assert domains["mix"] is None
    assert domains["tilt"] is cap
    np.testing.assert_array_equal(domains["at"].lower, [0, -np.inf])
    assert domains["far"].inside[0] > 2


@pytest.mark.parametrize(
    ("part", "error", "words"),
    [
        ((12, -12), EmptySetError, "gain: lower must be below upper, got 12 and -12"),
        (
            (0, None),
            ArgumentError,
            "gain needs two bounds, .* without bounds is Euclidean",
        ),
        ((1, 1.0), ArgumentError, "gain has two bounds that are alike"),
        ((0, np.inf), ArgumentError, "gain: upper must be a finite number"),
        (["red", 3], ArgumentError, "gain needs two bounds"),
        (["red", "red"], ArgumentError, "gain: Categories needs two values at least"),
        (range(3, 4), ArgumentError, "gain: a range must have two numbers at least"),
        (range(10**400), ArgumentError, "upper must be a whole number of at most 15 digits"),
        (range(3, 9, 2), ArgumentError, "gain: a range must have .* no gaps"),
        (3, ArgumentError, "gain must be a pair of bounds"),
        ((gd.Euclidean(2), [(0, 1)]), ArgumentError, r"gain is 1 pairs of bounds"),
        (gd.Sphere, ArgumentError, "gain must be a pair of bounds"),
    ],
)
def test_bad_parts_are_named(part, error, words):
    with pytest.raises(error, match=words):
        gd.space(gain=part)


def test_a_name_given_twice_is_refused():
    with pytest.raises(ArgumentError, match="'gain' twice"):
        gd.space({"gain": (0, 1), "mix": (0, 1)}, gain=(0, 2))


def test_lists_of_texts_are_categories_and_ranges_are_integers():
    space = gd.space(kind=["a", "b"], on=(False, True), layers=range(2, 9), gain=(0, 1))
    assert space.manifold.factors[:3] == (
        gd.Categories("a", "b"), gd.Categories(False, True), gd.Integers(2, 8)
    )  # fmt: skip


def test_a_space_has_parts():
    with pytest.raises(ArgumentError, match="space needs parameters"):
        gd.space()


def test_spaces_nest():
    space = gd.space(arm=gd.space(a=(0, 1), b=(0, 2)), c=(5, 6))
    x = space.manifold.pack({"arm": {"a": 3, "b": 1}, "c": 9})
    assert space.manifold.unpack(space.project(x)) == {"arm": {"a": 1.0, "b": 1.0}, "c": 6.0}


def test_a_domain_stands_for_its_manifold():
    assert as_place(SOUND) == (SOUND.manifold, SOUND)
    assert as_place(gd.Sphere(3)) == (gd.Sphere(3), None)
    free = gd.space(a=gd.Sphere(3), b=gd.Torus(1))
    assert as_place(free) == (free.manifold, None)  # nothing to project on
    with pytest.raises(ArgumentError, match="manifold must be a Manifold such as Sphere"):
        as_place("sphere")


def test_two_sets_are_both_kept():
    _, domain = as_place(SOUND, {"gain": (-3, 30), "mix": lambda w: bool(w[0] > 0.2)})
    assert isinstance(domain, gd.Space)
    gain, mix, angle = domain.domains
    assert (gain.lower, gain.upper, gain.manifold) == (-3, 12, Line(-12, 12))
    assert isinstance(mix, gd.Where)
    assert angle is None
    _, domain = as_place(SOUND, lambda p: p["gain"] < 3)
    assert isinstance(domain, gd.Intersection)
    y = SOUND.manifold.pack({"gain": 30, "mix": [0.2, 0.3, 0.5], "angle": 0})
    assert SOUND.manifold.unpack(domain.project(y))["gain"] == pytest.approx(3)
    with pytest.raises(EmptySetError, match="no number between"):
        as_place(gd.space(gain=gd.Interval(0, 1, manifold=Line(-12, 12))), {"gain": (2, 3)})


def test_sets_of_some_factors():
    product = gd.Product(gd.Euclidean(2), gd.Sphere(3))
    domain = as_domain({0: [(0, 1), (0, None)]}, product)
    np.testing.assert_array_equal(domain.domains[0].upper, [1, np.inf])
    assert domain.domains[1] is None
    assert as_domain({}, product) is None
    named = gd.Product(gd.Euclidean(1), gd.Sphere(3), names=["height", "view"])
    assert as_domain({"height": [(0, 1)]}, named).domains[1] is None
    assert as_domain({0: [(0, 1)]}, named).domains[1] is None


@pytest.mark.parametrize(
    ("domain", "manifold", "words"),
    [
        ({0: [(0, 1)]}, gd.Euclidean(1), "which is for the factors of a product"),
        ({"gian": (0, 1)}, SOUND.manifold, "domain has 'gian', expected some of 'gain', 'mix'"),
        ({3: (0, 1)}, SOUND.manifold, "domain has 3, expected some of"),
        ({"mix": [(0, 1)]}, SOUND.manifold, r"domain\['mix'\] is 1 pairs of bounds"),
        ({"gain": 7}, SOUND.manifold, r"domain\['gain'\] must be a Domain such as"),
        ([(0, 1)] * 3, gd.Euclidean(2), r"a box in Euclidean\(3\); the manifold is Euclidean\(2"),
        ([(0, 1, 2)] * 2, gd.Euclidean(2), "domain must be a Domain such as"),
        (7, gd.Euclidean(2), "domain must be a Domain such as"),
        ((0, 1), gd.Euclidean(2), "domain must be a Domain such as"),
    ],
)
def test_what_does_not_fit_is_named(domain, manifold, words):
    with pytest.raises(ArgumentError, match=words):
        as_domain(domain, manifold)


@pytest.mark.parametrize("manifold", [gd.Euclidean(1), gd.Euclidean(3), gd.Euclidean(2, 2)])
def test_one_number_of_scipy_holds_for_all_entries(manifold):
    box = as_domain(optimize.Bounds(-1, 2), manifold)
    assert box.manifold == manifold
    assert (box.lower == -1).all()
    assert (box.upper == 2).all()


def test_bounds_of_scipy_are_those_of_each_entry():
    box = as_domain(optimize.Bounds([0, -np.inf], [3, 4]), gd.Euclidean(2))
    assert box.lower.tolist() == [0, -np.inf]
    assert box.upper.tolist() == [3, 4]
    square = as_domain(optimize.Bounds(np.zeros((2, 2)), 5), gd.Euclidean(2, 2))
    assert (square.upper - square.lower == 5).all()
    part = as_domain(optimize.Bounds(0.5, np.inf), Line(0, 1))
    assert (part.lower, part.upper) == (0.5, 1)
    for manifold in (gd.Euclidean(3), Line(0, 1), gd.Sphere(2)):
        with pytest.raises(ArgumentError, match="domain"):
            as_domain(optimize.Bounds([0, 0], [1, 1]), manifold)


# -- named parameters ------------------------------------------------------------------------------

VOICE = gd.space(
    gain=(-12, 12), mix=gd.Simplex(3), freq=gd.Interval(20, 20e3, log=True), angle=gd.Torus(1)
)
BEST = {"gain": 12.0, "mix": [0.2, 0.3, 0.5], "freq": 440.0, "angle": 3.0}
BEGIN = {"gain": 0, "mix": [1 / 3] * 3, "freq": 1000, "angle": 0}


def harsh(p):
    """Its optimum is at a bound."""
    weights = ((p["mix"] - np.array(BEST["mix"])) ** 2).sum()
    off = (p["gain"] - 13) ** 2 + np.log(p["freq"] / 440) ** 2 + 10 * weights
    return off + 1 - np.cos(p["angle"] - 3)


def far(p):
    return VOICE.manifold.dist(p, BEST)


@pytest.mark.parametrize(
    "judge",
    [
        gd.from_objective(harsh),
        gd.from_preference(lambda a, b: harsh(a) < harsh(b)),
        lambda a, b: 1 if harsh(a) > harsh(b) else -1,
    ],
    ids=["function", "judge", "oracle"],
)
def test_parameters_by_name_in_and_out(judge):
    seen = []
    result = gd.minimize(
        judge, VOICE, BEGIN, budget=400, rng=1, monitor=harsh,
        callback=lambda p: seen.append((p.x["gain"], p.point["mix"].sum())),
    )  # fmt: skip
    assert list(result.x) == ["gain", "mix", "freq", "angle"] == list(result.x_last)
    assert result.x["gain"] == 12  # to the last bit
    assert far(result.x) < 0.05
    assert result.history.monitor[-1] == pytest.approx(harsh(result.x))
    assert all(-12 <= gain <= 12 and abs(total - 1) < 1e-12 for gain, total in seen)
    assert repr(result).startswith("Result(x={gain: 12, mix: [0.2")
    again = gd.minimize(judge, VOICE, result.x, budget=20, rng=1)
    assert far(again.x) <= far(result.x) + 1e-6


@pytest.mark.parametrize("method", ["duel-csa", "block", "rdngd", "stp", "ideal-point"])
def test_methods_keep_to_the_bounds_of_factors(method):
    asked = []

    def softer(a, b):
        asked.extend([a["gain"], b["gain"]])
        return harsh(a) < harsh(b)

    budget = 15 if method == "ideal-point" else 200
    oracle = gd.from_preference(softer)
    result = gd.minimize(oracle, VOICE, BEGIN, method=method, budget=budget, rng=0)
    assert abs(result.x["gain"]) <= 12
    assert harsh(result.x) < 0.3 * harsh(BEGIN)
    if method != "rdngd":  # whose probes may lie outside by the radius, as in the paper
        assert max(map(abs, asked)) <= 12


def test_sets_of_one_factor_of_any_product():
    poses = gd.Product(gd.Euclidean(2), gd.Sphere(3))
    goal = poses.pack(([3, 0.5], [0, 0, 1]))
    oracle = gd.from_objective(lambda x: poses.dist(x, goal))
    start = ([0.2, 0.2], [1, 0, 0])
    result = gd.minimize(oracle, poses, start, domain={0: [(0, 1), (0, 1)]}, budget=500, rng=0)
    at, view = poses.split(result.x)
    np.testing.assert_allclose(at, [1, 0.5], atol=1e-6)
    np.testing.assert_allclose(view, [0, 0, 1], atol=1e-6)


def test_a_frank_wolfe_step_goes_factor_by_factor():
    both = gd.space(gain=(-12, 12), rate=gd.Interval(1, 100, log=True))
    oracle = gd.from_objective(lambda p: (p["gain"] - 5) ** 2 + np.log(p["rate"] / 7) ** 2)
    start = {"gain": -10, "rate": 90}
    result = gd.minimize(oracle, both, start, method="rdfw", budget=1000, rng=0)
    assert abs(result.x["gain"]) <= 12
    assert oracle(both.manifold.pack(start), both.manifold.pack(result.x)) == 1


def test_a_method_with_a_domain_keeps_it_in_a_space():
    narrow = gd.Space(
        VOICE.manifold, (gd.Interval(-1, 1, manifold=VOICE.manifold.factors[0]), *[None] * 3)
    )
    method = gd.DuelNewton(domain=narrow)
    result = gd.minimize(gd.from_objective(harsh), VOICE, BEGIN, method=method, budget=60, rng=0)
    assert abs(result.x["gain"]) <= 1
    assert 20 <= result.x["freq"] <= 20e3


def test_several_problems_of_named_parameters_at_once():
    both = gd.space(a=(-1, 1), b=(-1, 1))
    oracle = gd.from_objective(lambda p: (p["a"] - 0.3) ** 2 + p["b"] ** 2, vectorized=True)
    start = {"a": [-1, 0, 1], "b": [1, 1, 1]}
    result = gd.minimize(oracle, both, start, iterations=60, rng=0)
    np.testing.assert_allclose(result.x["a"], [0.3] * 3, atol=1e-2)
    assert result.x["b"].shape == (3,)


def test_a_named_run_is_logged_and_goes_on(tmp_path):
    run = partial(gd.minimize, gd.from_objective(harsh), VOICE, BEGIN, rng=0, log=tmp_path / "log")
    first, again = run(budget=60), run(budget=90)
    assert first.duels <= 60 < again.duels
    whole = gd.minimize(gd.from_objective(harsh), VOICE, BEGIN, rng=0, budget=90)
    assert again.x["freq"] == whole.x["freq"]


@pytest.mark.parametrize(
    ("x0", "words"),
    [
        ({"gain": 0}, "x0 lacks 'mix', 'freq', 'angle'"),
        (BEGIN | {"gian": 1}, "x0 has 'gian'"),
        (BEGIN | {"gain": 13}, "x0 is not in the domain"),
        (BEGIN | {"mix": [0.5, 0.6, 0.1]}, r"x0 \(factor 1\) is not on Simplex"),
        (BEGIN | {"freq": -1}, r"x0 \(factor 2\) is not on Line"),
    ],
)
def test_bad_starts_are_named(x0, words):
    with pytest.raises(GeoduelError, match=words):
        gd.minimize(gd.from_objective(harsh), VOICE, x0)


def test_bounds_without_a_common_number_are_refused():
    with pytest.raises(EmptySetError, match=r"domain\['a'\] is \(5.0, 10.0\), which has no number"):
        as_domain({"a": (5, 10)}, gd.space(a=(0, 1)).manifold)
    some = as_domain((0.5, 10), gd.Line(0, 1))
    assert (some.lower, some.upper) == (0.5, 1.0)


def test_nan_is_no_bound_and_none_is():
    for manifold, given in (
        (gd.Euclidean(2), [(np.nan, 1), (0, 1)]),
        (gd.Line(0, 1), (0.5, np.nan)),
    ):
        with pytest.raises(ArgumentError, match="domain holds NaN, which is no bound"):
            as_domain(given, manifold)
    box = as_domain([(None, 1), (0, None)], gd.Euclidean(2))
    np.testing.assert_array_equal([box.lower, box.upper], [[-np.inf, 0], [1, np.inf]])
