"""Simulated people: frequencies against the formulas, within four standard errors."""

from itertools import pairwise, permutations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import geoduel as gd
from geoduel.errors import ArgumentError, NotOnManifoldError
from geoduel.oracles import Person, draw_crowd, draw_person
from geoduel.oracles.people import DEGREE, HABITS, KINDS

PLANE = gd.Rotations(2)
N = 2000


def degrees(t):
    return PLANE.from_angle(t * DEGREE)


def share(said, n=N, left=2.0, right=3.0, **settings):
    """How often a person with ideal 0 says so of two tilts, degrees."""
    settings = {"lapse": 0.0, **settings}
    person = Person(PLANE, degrees(0.0), 0, **settings)
    return np.mean([person.compare(degrees(left), degrees(right)) == said for _ in range(n)])


def found(said, person, left, right, n=N):
    """How often an existing person says so of two tilts, degrees."""
    return np.mean([person.compare(degrees(left), degrees(right)) == said for _ in range(n)])


def near(p, n=N):
    return pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / n) + 1e-12)


def test_one_jnd_is_told_three_times_out_of_four():
    assert share("left") == near(0.75)
    assert share("left", jnd=2 * DEGREE) == near(1 / (1 + 3**-0.5))


def test_lapses_and_left_clicks():
    assert share("left", left=40.0, right=0.0, lapse=0.3) == near(0.15)
    assert share("left", left=40.0, right=0.0, always_left=0.1) == near(0.1)


def test_bias_counts_as_a_difference():
    assert share("left", left=3.0, right=3.0, bias=1.0) == near(0.75)


def test_ties_are_small_differences():
    """P(tie) at equal losses: the logistic noise stays within ±1 JND, 2 σ(ln 3) - 1 = 1/2."""
    assert share("tie", left=3.0, right=3.0, tie=1.0) == near(0.5)
    assert share("tie") == 0


def test_fatigue_and_distance_blur():
    tired = Person(PLANE, degrees(0), 0, fatigue=1.0, lapse=0.0)
    tired.answers = 10**9
    right = np.mean([tired.compare(degrees(2), degrees(30)) == "left" for _ in range(500)])
    assert right == near(0.5, 500)
    assert share("left", weber=1.0, left=40.0, right=41.0) == near(1 / (1 + 3 ** (-1 / 41.5)))


def test_power_of_the_loss_orders_alike():
    person = Person(PLANE, degrees(0), 0, power=2.0)
    assert person.loss(degrees(20)) == pytest.approx(20 * DEGREE)
    assert person.loss(degrees(10)) == pytest.approx(5 * DEGREE)


def test_sensitivities_run_from_one_to_the_least():
    sphere, x0 = gd.Sphere(4), np.eye(4)[0]
    person = draw_person(sphere, x0, np.random.default_rng(0), spread=3.0)
    assert np.linalg.svd(person.sensitivity)[1] == pytest.approx([1, 3**-0.5, 1 / 3])
    c = np.array([0.1, 0.0, 0.0])
    x = sphere.exp(person.ideal, sphere.from_coords(person.ideal, c))
    assert person.loss(x) == pytest.approx(np.linalg.norm(person.sensitivity @ c))
    assert person.error(x) == pytest.approx(0.1)


@pytest.mark.parametrize("noise", ["logistic", "normal", "cauchy"])
def test_all_noise_tells_one_jnd_three_times_out_of_four(noise):
    assert share("left", noise=noise) == near(0.75)
    assert share("left", left=3.0, right=3.0, noise=noise) == near(0.5)


@pytest.mark.parametrize(
    ("noise", "p"),
    [
        ("logistic", 1 / (1 + 3.0**-4)),
        ("normal", stats.norm.cdf(4 * stats.norm.ppf(0.75))),
        ("cauchy", 0.5 + np.arctan(4.0) / np.pi),
    ],
)
def test_tails_of_the_noise(noise, p):
    """Four JND are told right with the probabilities of these laws: 0.988, 0.997, 0.922."""
    assert share("left", left=2.0, right=6.0, noise=noise) == near(p)


def test_alternating_people_do_not_look():
    never = Person(PLANE, degrees(0), 0, alternate=1.0, lapse=0.0)
    said = [never.compare(degrees(40), degrees(0)) for _ in range(6)]
    assert said == ["left", "right"] * 3
    some = Person(PLANE, degrees(0), 0, alternate=0.4, lapse=0.0)
    said = [some.compare(degrees(40), degrees(0)) for _ in range(N)]
    # Only an alternation says "left": s = alternate (1 - s), a Markov chain of two states.
    s = 0.4 / 1.4
    more = np.sqrt((1 - 0.4) / (1 + 0.4))  # neighbours have correlation -alternate
    assert np.mean(np.array(said) == "left") == pytest.approx(
        s, abs=4 * more * np.sqrt(s * (1 - s) / N)
    )


def test_always_left_says_nothing_else():
    lazy = draw_person(PLANE, np.eye(2), np.random.default_rng(0), kind="always left")
    assert found("left", lazy, 40, 0) == 1


def test_asymmetry_counts_with_the_direction():
    """The length times 1 + α·v/|v|: over opposite directions it averages out."""
    sphere, ideal = gd.Sphere(4), np.eye(4)[0]
    rng = np.random.default_rng(0)
    a = np.array([0.1, -0.05, 0.15])
    person = Person(sphere, ideal, 0, asymmetry=a)
    for c in rng.standard_normal((20, 3)):
        c /= 4 * np.linalg.norm(c)
        there, back = (
            person.loss(sphere.exp(ideal, sphere.from_coords(ideal, v))) for v in (c, -c)
        )
        assert (there + back) / 2 == pytest.approx(1 / 4)
        assert (there - back) / 2 == pytest.approx(a @ c)


def test_a_plateau_is_flat_and_ends_in_the_distance():
    person = Person(PLANE, degrees(0), 0, plateau=5 * DEGREE, lapse=0.0)
    assert person.loss(degrees(4.9)) == person.loss(degrees(-3)) == 0
    assert person.loss(degrees(25)) == pytest.approx(20 * DEGREE)
    assert found("left", person, 1, 4) == near(0.5)


def test_saturation_tends_to_its_limit():
    """s (1 - exp(-l/s)): l for small l, s for large ones, and always below l."""
    person = Person(gd.Euclidean(1), np.zeros(1), 0, saturation=2.0)
    assert person.loss(np.array([1e-4])) == pytest.approx(1e-4, rel=1e-4)
    assert person.loss(np.array([100.0])) == pytest.approx(2.0)
    assert person.loss(np.array([2.0])) == pytest.approx(2 * (1 - np.exp(-1)))
    free = Person(gd.Euclidean(1), np.zeros(1), 0)
    assert all(person.loss(x) < free.loss(x) for x in np.linspace(0.1, 5, 20)[:, None])


@pytest.mark.parametrize("power", [0.5, 2.0, 3.0])
def test_power_and_distance_agree_at_twenty_jnd(power):
    """Also in JND, whatever the JND."""
    for jnd in (DEGREE, 2 * DEGREE):
        person = Person(PLANE, degrees(0), 0, power=power, jnd=jnd)
        twenty = PLANE.from_angle(20 * jnd)
        assert person.regret(twenty) == pytest.approx(20)
        assert person.regret(PLANE.from_angle(5 * jnd)) == pytest.approx(20 * 0.25**power)


def test_drift_moves_the_ideal_by_its_length_an_answer():
    sphere, ideal = gd.Sphere(3), np.eye(3)[0]
    person = Person(sphere, ideal, 0, drift=np.array([0.03, 0.04]))
    path = [person.ideal]
    for _ in range(10):
        person.compare(ideal, -ideal)
        path.append(person.ideal)
    assert np.allclose([sphere.dist(a, b) for a, b in pairwise(path)], 0.05)
    line = Person(gd.Euclidean(2), np.zeros(2), 0, drift=np.array([0.03, 0.04]))
    for _ in range(10):
        line.compare(np.zeros(2), np.ones(2))
    assert np.allclose(line.ideal, [0.3, 0.4])


def test_of_two_ideals_the_nearer_one_counts():
    person = Person(PLANE, degrees(0), 0, other=degrees(50))
    assert person.loss(degrees(20)) == pytest.approx(20 * DEGREE)
    assert person.loss(degrees(40)) == pytest.approx(10 * DEGREE)
    assert person.error(degrees(49)) == pytest.approx(1 * DEGREE)
    assert person.regret(degrees(0)) == person.regret(degrees(50)) == 0


def test_regret_is_the_loss_in_jnd():
    person = Person(PLANE, degrees(3), 0, jnd=2 * DEGREE)
    assert person.regret(degrees(11)) == pytest.approx(4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("space", ["sphere", "simplex"])
def test_kinds_lose_nothing_at_their_ideals(kind, space):
    manifold, x0 = {
        "sphere": (gd.Sphere(3), np.eye(3)[0]),
        "simplex": (gd.Simplex(4), np.full(4, 0.25)),
    }[space]
    person = draw_person(manifold, x0, np.random.default_rng(1), kind=kind, distance=0.3)
    ideals = [person.ideal] if person.other is None else [person.ideal, person.other]
    for ideal in ideals:  # exactly, but for rounding in a root
        assert person.regret(ideal) == pytest.approx(0, abs=1e-4)
    assert person.error(x0) <= 0.3 + 1e-9
    assert person.regret(x0) > 0
    assert person.answers == 0


def test_kinds_state_lengths_in_jnd():
    sphere, x0 = gd.Sphere(3), np.eye(3)[0]

    def drawn(kind):
        return draw_person(sphere, x0, np.random.default_rng(0), kind=kind, jnd=0.01)

    assert drawn("saturating at 15 JND").saturation == pytest.approx(0.15)
    assert drawn("plateau of 2 JND").plateau == pytest.approx(0.02)
    assert np.linalg.norm(drawn("drifting").drift) == pytest.approx(0.001)
    assert drawn("JND three times that assumed").jnd == pytest.approx(0.03)
    assert np.linalg.norm(drawn("asymmetric 20 %").asymmetry) == pytest.approx(0.2)
    two = drawn("two ideals")
    assert sphere.dist(two.ideal, two.other) == pytest.approx(0.5)


def test_a_kind_is_beside_other_settings():
    sphere, x0 = gd.Sphere(3), np.eye(3)[0]
    plain = draw_person(sphere, x0, np.random.default_rng(0), lapse=0.1, distance=0.4)
    kind = draw_person(sphere, x0, np.random.default_rng(0), 0.4, kind="drifting", lapse=0.1)
    assert np.array_equal(plain.ideal, kind.ideal)  # the same seed, the same ideal
    assert kind.lapse == plain.lapse == 0.1
    assert plain.drift is None


def test_people_may_care_about_few_directions():
    """Singular values of their sensitivities: 1 five times, and a thirtieth or so."""
    flat = gd.Euclidean(8)
    person = draw_person(flat, np.zeros(8), np.random.default_rng(0), kind="five directions")
    seen = np.linalg.svd(person.sensitivity)[1]
    assert np.allclose(seen, [1, 1, 1, 1, 1, 0.03, 0.03, 0.03])
    with pytest.raises(ArgumentError, match="directions"):
        draw_person(flat, np.zeros(8), np.random.default_rng(0), directions=0)


def test_blind_people_see_all_directions_but_one():
    sphere, x0 = gd.Sphere(4), np.eye(4)[0]
    rng = np.random.default_rng(0)
    person = draw_person(sphere, x0, rng, kind="blind to a direction")
    assert np.linalg.svd(person.sensitivity)[1] == pytest.approx([1, 1, 0])
    unseen = np.linalg.svd(person.sensitivity)[2][-1]
    x = sphere.exp(person.ideal, sphere.from_coords(person.ideal, 0.3 * unseen))
    assert person.loss(x) == pytest.approx(0, abs=1e-12)
    assert person.error(x) == pytest.approx(0.3)


@pytest.mark.parametrize("habit", HABITS)
def test_habits_do_not_depend_on_what_is_shown(habit):
    """Half of the answers are right, of questions with sides by a coin."""
    person = draw_person(PLANE, np.eye(2), np.random.default_rng(0), kind=habit)
    sides = np.random.default_rng(1)
    right = [
        person.answer(person.ideal, degrees(90), int(sides.choice([-1, 1]))) == -1 for _ in range(N)
    ]
    assert np.mean(right) == near(0.5)


def test_unknown_kinds_are_named():
    with pytest.raises(ArgumentError, match="kind"):
        draw_person(PLANE, np.eye(2), np.random.default_rng(0), kind="kind")


@pytest.mark.parametrize("name", ["asymmetry", "drift", "apart", "spread"])
def test_negative_lengths_are_refused(name):
    with pytest.raises(ArgumentError, match=name):
        draw_person(PLANE, np.eye(2), np.random.default_rng(0), **{name: -0.1})


def test_the_seed_makes_the_person():
    said = [
        [p.compare(degrees(1), degrees(2)) for _ in range(30)]
        for p in (Person(PLANE, degrees(0), 5), Person(PLANE, degrees(0), 5))
    ]
    assert said[0] == said[1]


def test_answers_as_oracle_method_and_rater_agree():
    person = Person(PLANE, degrees(0), 0, lapse=0.0)
    good, bad = degrees(1), degrees(40)
    assert person(good, bad) == person.answer(good, bad, -1) == -1
    assert person(bad, good) == 1
    assert person.rate(SimpleNamespace(a=bad, b=good, left="a")) == "b"
    assert person.rate(SimpleNamespace(a=bad, b=good, left="b")) == "b"
    assert share("right", left=30.0, right=1.0) == 1


def test_a_crowd_agrees_or_not():
    sphere, x0 = gd.Sphere(3), np.eye(3)[0]
    crowd = draw_crowd(sphere, x0, np.random.default_rng(0), n=5, varied=0.5)
    assert len({p.jnd for p in crowd}) == 5
    assert all(np.array_equal(p.ideal, crowd[0].ideal) for p in crowd)
    apart = draw_crowd(sphere, x0, np.random.default_rng(0), n=3, disagreement=0.1)
    assert sphere.dist(crowd[0].ideal, apart[1].ideal) == pytest.approx(0.1)


def test_a_person_levels_a_study():
    study = gd.create_study(PLANE, rng=0, x0=np.eye(2), budget=12)
    person = Person(PLANE, degrees(20), 1)
    for _ in range(12):
        duel = study.ask()
        study.tell(duel, person.rate(duel))
    assert person.error(study.recommend()) < 3 * DEGREE


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"jnd": 0.0}, "jnd"),
        ({"lapse": 1.5}, "lapse"),
        ({"always_left": -0.1}, "always_left"),
        ({"tie": -1.0}, "tie"),
        ({"clear": -1.0}, "clear"),
        ({"arbitrary": 2.0}, "arbitrary"),
        ({"power": 0.0}, "power"),
        ({"sensitivity": np.eye(2)}, "sensitivity"),
        ({"asymmetry": np.ones(2)}, "asymmetry"),
        ({"drift": 0.1}, "drift"),
        ({"alternate": 1.1}, "alternate"),
        ({"noise": "uniform"}, "noise"),
        ({"plateau": -1.0}, "plateau"),
        ({"saturation": 0.0}, "saturation"),
        ({"saturation": np.nan}, "saturation"),
        ({"weber": -0.1}, "weber"),
        ({"fatigue": -0.1}, "fatigue"),
        ({"bias": np.inf}, "bias"),
    ],
)
def test_bad_settings_are_named(settings, word):
    with pytest.raises(ArgumentError, match=word):
        Person(PLANE, degrees(0), 0, **settings)


def test_a_person_is_drawn_with_one_kind_of_sensitivity():
    sphere, x0, rng = gd.Sphere(8), np.eye(8)[0], np.random.default_rng(0)
    for given in ({"spread": 3.0}, {"kind": "metric 1 to 1/3"}, {"kind": "blind to a direction"}):
        with pytest.raises(ArgumentError, match="directions=5 each say how sensitive"):
            draw_person(sphere, x0, rng, directions=5, **given)


def test_the_ideals_lie_on_the_manifold():
    with pytest.raises(NotOnManifoldError, match="ideal"):
        Person(PLANE, 2 * np.eye(2))
    with pytest.raises(NotOnManifoldError, match="other"):
        Person(PLANE, np.eye(2), other=2 * np.eye(2))


@pytest.mark.parametrize("noise", ["logistic", "normal", "cauchy"])
def test_two_of_several_are_told_apart_as_in_a_duel(noise):
    """A difference of one JND three times out of four, whatever else is shown; 4 σ."""
    line = gd.Euclidean(1)
    person = Person(line, np.zeros(1), 0, jnd=1.0, lapse=0.0, noise=noise)
    points = [np.array([t]) for t in (1.0, 2.0, -5.0, 9.0)]
    n = 4000
    first = sum(r.index(0) < r.index(1) for r in (person.rank(points) for _ in range(n)))
    assert first / n == near(0.75, n)


def test_strengths_are_told_beyond_a_threshold_or_at_random():
    """Seen with the noise of the answer: at the threshold, half of the answers are clear."""
    duel = SimpleNamespace(a=degrees(0), b=degrees(9), left="a")
    person = Person(PLANE, degrees(0), 0, lapse=0.0, clear=0.0)
    assert {person.rate(duel, "strength") for _ in range(20)} == {"a clearly"}
    person.clear = 9.0
    n = 2000
    said = [person.graded(duel.a, duel.b) for _ in range(n)]
    assert {sign for sign, _ in said} == {-1}
    assert sum(strength == 2 for _, strength in said) / n == near(0.5, n)
    person.clear, person.arbitrary = 0.0, 1.0
    assert sum(person.graded(duel.a, duel.b)[1] == 2 for _ in range(n)) / n == near(0.5, n)
    tied = Person(PLANE, degrees(0), 0, lapse=0.0, tie=99.0)
    assert tied.graded(duel.a, duel.b) == (0, 0)
    assert tied.rate(duel, "strength") == "tie"


def test_a_ranking_is_told_in_three_forms():
    sphere = gd.Sphere(3)
    duel = gd.create_study(sphere, x0=np.eye(3)[0], rng=0, choices=4).ask()
    person = Person(sphere, duel.points[2], 0, jnd=1e-9, lapse=0.0)
    losses = [person.loss(point) for point in duel.points]
    order = [int(j) for j in np.argsort(losses)]
    letters = ["abcd"[j] for j in order]
    assert person.rate(duel) == letters[0] == "c"
    assert person.rate(duel, "ranking") == ">".join(letters)
    assert person.rate(duel, "both") == f"c>{letters[1]}{letters[2]}>{letters[3]}"


def test_who_does_not_look_ranks_at_random_or_as_shown():
    line, points = gd.Euclidean(1), [np.array([t]) for t in (0.0, 1.0, 2.0)]
    coin = Person(line, np.zeros(1), 0, lapse=1.0)
    assert {tuple(coin.rank(points)) for _ in range(60)} == set(permutations(range(3)))
    assert Person(line, np.zeros(1), 0, always_left=1.0).rank(points[::-1]) == [0, 1, 2]
