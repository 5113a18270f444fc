"""Mixed: the right values of planted problems, whatever is beside them, within the budget."""

from itertools import pairwise

import numpy as np
import pytest

import geoduel as gd
from geoduel.domains.mixture import Mixture
from geoduel.errors import ArgumentError
from geoduel.methods import Mixed
from geoduel.methods.mixed import MixedState, _beats, _others
from geoduel.methods.named import METHODS
from geoduel.methods.restarts import Restarted

KINDS = "abcde"
SPACE = gd.space(
    kind=list(KINDS),
    other=list(KINDS),
    number=range(1, 21),
    size=gd.Integers(1, 512, ratios=True),
    mix=gd.Simplex(3),
    angle=gd.Torus(1),
)
BEST = {"kind": "d", "other": "a", "number": 14, "size": 60}
MIX, ANGLE = np.array([0.2, 0.3, 0.5]), 2.5


def loss(p, shift=0.0):
    """Zero at the optimum; every other category moves the best angle by a shift."""
    steps = (p["kind"] != "d") + (p["other"] != "a")
    costs = 0.1 * (p["kind"] != "d") + 0.2 * (p["other"] != "a")
    costs += ((p["number"] - 14) / 10) ** 2 + np.log2(p["size"] / 60) ** 2
    turn = np.cos(p["angle"] - ANGLE - shift * steps)
    return float(costs + ((np.sqrt(p["mix"]) - np.sqrt(MIX)) ** 2).sum() + 1 - turn)


def values(p):
    return {name: p[name] for name in BEST}


@pytest.mark.parametrize("shift", [0.0, 0.6])
@pytest.mark.parametrize("seed", range(3))
def test_runs_end_in_the_optimum(seed, shift):
    """With the shift the best kind looks worse at the optimum of another: 1 - cos 0.6 > 0.1."""
    result = gd.minimize(gd.from_objective(lambda p: loss(p, shift)), SPACE, budget=500, rng=seed)
    assert values(result.x) == BEST
    assert loss(result.x, shift) < 1e-9
    assert result.duels <= 500


def test_answers_that_are_wrong_are_outvoted():
    oracle = gd.Noisy(gd.from_objective(loss), flip=0.1, rng=0)
    result = gd.minimize(oracle, SPACE, budget=600, rng=1)
    assert {name: result.x[name] for name in ("kind", "other")} == {"kind": "d", "other": "a"}
    assert loss(result.x) < 0.1
    assert result.noise is not None
    assert 0.02 < result.noise < 0.25


def test_a_trial_is_given_up_once_it_is_too_far_behind():
    """A kind that costs 0.1 everywhere could have had six duels a dimension, and two more."""
    place = gd.space(kind=["a", "b"], angle=gd.Torus(2))
    oracle = gd.from_objective(
        lambda p: 0.1 * (p["kind"] == "b") + (1 - np.cos(p["angle"] - 1)).sum()
    )
    seen = []
    start = {"kind": "a", "angle": np.zeros(2)}
    gd.minimize(oracle, place, start, budget=90, rng=0, callback=lambda p: seen.append(p.state))
    costs = [b.asked - a.asked for a, b in pairwise(seen) if a.lost != b.lost]
    assert len(costs) == 1
    assert 2 < costs[0] < 12


@pytest.mark.parametrize(
    ("noise", "answers", "ahead", "duels"),
    [
        (0.0, [-1], 1, 1),
        (0.0, [0], 0, 1),
        (0.0, [1], -1, 1),
        (0.2, [-1, -1, -1], 1, 3),  # a lead of three is wanted
        (0.2, [-1, 1, -1, -1, -1], 1, 5),
        (0.2, [1, 1], -1, 2),  # one more would be one too many to catch up with
        (0.2, [0] * 24, 0, 24),  # and here it ends
    ],
)
def test_a_lead_decides(noise, answers, ahead, duels):
    questions = _beats(np.zeros(1), np.ones(1), noise)
    next(questions)
    for answer in answers[:-1]:
        questions.send(answer)
    with pytest.raises(StopIteration) as end:
        questions.send(answers[-1])
    assert end.value.value == (ahead, duels)


def test_values_that_may_yet_have_a_trial():
    """All other categories, and in the end the next whole numbers."""
    parts = Mixture(gd.Product(gd.Integers(1, 8), gd.Categories("a", "b", "c"), gd.Integers(0, 3)))
    x = np.array([4.0, 1.0, 3.0])
    state = MixedState(x, x, x, None, lost=((1, 0.0),), far=((0, 5.0),))
    assert list(_others(parts, state, False)) == [(1, 2)]
    assert list(_others(parts, state, True)) == [(1, 2), (0, 3), (2, 2)]
    assert list(_others(parts, state._replace(alike=((1, 2.0),)), True)) == [(0, 3), (2, 2)]


def test_values_that_tie_have_no_trial():
    """Of the kinds "a" is worse, and nothing depends on the others being one or another."""
    place = gd.space(kind=list("abcd"), angle=gd.Torus(2))
    oracle = gd.from_objective(lambda p: (p["kind"] == "a") - np.cos(p["angle"] - 1).sum())
    seen = []
    gd.minimize(
        oracle, place, {"kind": "a", "angle": np.zeros(2)}, x_tol=1e-4, rng=0,
        callback=lambda p: seen.append(p.state),
    )  # fmt: skip
    end = seen[-1]
    assert end.stop == "x_tol"
    assert {i for i, _ in end.alike} == {0}
    assert len(end.alike) == 2
    assert {number for _, number in (*end.lost, *end.far)} == {0.0}


def test_after_whole_numbers_have_changed_alone_they_alone_are_asked_about_again():
    place = gd.space(kind=list("abcde"), number=range(1, 21), angle=gd.Torus(2))
    turn = np.array([1.0, -2.0])

    def loss(p):
        """The best number is another one where the angle is right."""
        away = p["number"] - 8 - 4 * np.cos(p["angle"] - turn).sum()
        return (p["kind"] != "b") + (away / 10) ** 2 + (1 - np.cos(p["angle"] - turn)).sum()

    seen = []
    gd.minimize(
        gd.from_objective(loss), place, {"kind": "b", "number": 3, "angle": np.zeros(2)},
        budget=200, rng=0, method=Mixed(restarts=0), callback=lambda p: seen.append(p.state),
    )  # fmt: skip
    again = [(a, b) for a, b in pairwise(seen) if a.settled and b.asked > a.asked]
    assert again
    for before, after in again:
        assert after.asked - before.asked < 4  # the other categories alone would be four
        assert before.values[0] == after.values[0] == 1


def test_the_walk_and_the_values_have_their_turns():
    """Sweeps once the walk is twice as long, trials after ten duels a dimension, walks between."""
    states, place = [], gd.space(kind=list("abc"), angle=gd.Torus(2))
    oracle = gd.from_objective(lambda p: (p["kind"] != "b") - np.cos(p["angle"] - 1).sum())
    start = {"kind": "a", "angle": np.zeros(2)}
    gd.minimize(oracle, place, start, x_tol=1e-4, rng=0, callback=lambda p: states.append(p.state))
    assert (states[0].walked, states[0].asked) == (0, 2)  # the values come first
    assert states[0].point[0] == 1  # "b" has won
    for before, after in pairwise(states):
        ended = before.inner.stop is not None
        if (after.far, after.rounds) != (before.far, before.rounds):
            assert before.walked >= 20 or ended
            assert after.rounds == before.rounds or len(before.far) == 2
        elif after.asked > before.asked:
            assert before.walked >= 1.25 * before.asked
            assert before.swept is None or before.walked > 2 * before.swept or ended
        elif before.walked >= 1.25 * before.asked and not ended:
            assert before.walked <= 2 * before.swept
            assert before.walked < 20 or (len(before.far), before.rounds) == (2, 1)
    # Both others were too far behind for a trial, and again at twice the distance.
    assert (states[-1].rounds, len(states[-1].far), states[-1].lost) == (1, 2, ())
    assert states[-1].stop == "x_tol"


def test_answers_that_are_typical_are_two_for_each_value_that_is_asked_about():
    """Each other category, and each halving of a range of whole numbers; and those of the walk."""
    kinds, numbers, turn = gd.Categories("a", "b", "c"), gd.Integers(1, 8), gd.Torus(1)
    method = Mixed(gd.DuelNewton())
    assert method.typical_answers(gd.Product(kinds, numbers)) == 2 * (2 + 3)
    walk = gd.DuelNewton().typical_answers(turn)
    assert walk > 0
    assert method.typical_answers(gd.Product(kinds, numbers, turn)) == walk + 2 * (2 + 3)


def test_values_alone_are_found():
    """Without a continuous factor the run ends once no value wins."""
    place = gd.space(kind=list(KINDS), number=range(1, 101))
    oracle = gd.from_objective(lambda p: (p["kind"] != "b") + abs(p["number"] - 71))
    result = gd.minimize(oracle, place, {"kind": "e", "number": 3}, rng=0)
    assert result.x == {"kind": "b", "number": 71}
    assert result.stop_reason == "values"
    assert result.duels < 50


@pytest.mark.parametrize("last", [1, 2, 9])
@pytest.mark.parametrize("sign", [1, -1])
def test_both_ends_of_a_range_are_proposed_and_found(last, sign):
    place = gd.space(number=gd.Integers(0, last), x=(0.0, 1.0))
    oracle = gd.from_objective(lambda p: sign * p["number"] + (p["x"] - 0.7) ** 2)
    far, near = (last, 0) if sign > 0 else (0, last)
    result = gd.minimize(oracle, place, {"number": far, "x": 0.5}, budget=80, rng=0)
    assert result.x["number"] == near
    assert result.x["x"] == pytest.approx(0.7, abs=1e-3)


@pytest.mark.filterwarnings("ignore::geoduel.errors.TiesWarning")  # no value makes a difference
def test_a_tie_keeps_what_there_is():
    place = gd.space(kind=list(KINDS), number=range(1, 21), angle=gd.Torus(1))
    oracle = gd.from_objective(lambda p: 1 - np.cos(p["angle"] - 1))
    start = {"kind": "c", "number": 7, "angle": 0}
    result = gd.minimize(oracle, place, start, budget=120, rng=0)
    assert (result.x["kind"], result.x["number"]) == ("c", 7)
    assert abs(result.x["angle"] - 1) < 1e-5


@pytest.mark.filterwarnings("ignore::geoduel.errors.TiesWarning")  # of two wrong kinds
@pytest.mark.parametrize("budget", [1, 2, 5, 17, 40, 90])
def test_the_budget_is_never_exceeded(budget):
    asked = []

    def oracle(a, b):
        asked.append((a, b))
        return int(np.sign(loss(a) - loss(b)))

    result = gd.minimize(oracle, SPACE, budget=budget, rng=0)
    assert len(asked) == result.duels <= budget
    assert all(type(p["number"]) is int and p["kind"] in KINDS for pair in asked for p in pair)


def test_the_same_seed_gives_the_same_run():
    runs = [gd.minimize(gd.from_objective(loss), SPACE, budget=80, rng=s).x for s in (0, 0, 1)]
    assert str(runs[0]) == str(runs[1]) != str(runs[2])


def test_values_cost_a_third_of_the_duels_at_most_of_a_long_run():
    """Where a value is asked about once, and none has a trial."""
    place = gd.space(number=range(1, 21), x=gd.Euclidean(20))
    scales = np.geomspace(1, 100, 20)
    oracle = gd.from_objective(lambda p: scales @ p["x"] ** 2 + p["number"])
    counts = []
    gd.minimize(
        oracle, place, {"number": 9, "x": np.ones(20)}, budget=600, rng=0,
        callback=lambda p: counts.append((p.state.walked, p.state.asked)),
    )  # fmt: skip
    walked, asked = counts[-1]
    assert asked < walked / 3
    assert walked + asked <= 600


def test_domains_of_other_factors_hold():
    """The optimum without the bound is outside; the values are those of the bound."""
    asked = []

    def f(p):
        asked.append(p["gain"])
        return (p["kind"] != "b") + (p["gain"] - 5) ** 2 + abs(p["layers"] - p["gain"])

    place = gd.space(kind=["a", "b"], gain=(0, 8), layers=range(1, 9))
    result = gd.minimize(gd.from_objective(f), place, domain={"gain": (0, 3)}, budget=200, rng=0)
    assert result.x["kind"] == "b"
    assert result.x["layers"] == 3
    assert result.x["gain"] == 3  # to the bit, by a walk that knows the bound
    assert result.stop_reason == "resolution"
    assert min(asked) >= 0
    assert max(asked) <= 3


@pytest.mark.parametrize("method", ["duel-csa", "block", "rdngd", "nelder-mead"])
def test_any_method_may_walk(method):
    more = {"step_size": 0.1} if method == "rdngd" else {}
    result = gd.minimize(gd.from_objective(loss), SPACE, method=method, budget=250, rng=0, **more)
    assert result.x["number"] in range(10, 19)
    assert loss(result.x) < 0.5


def test_problems_in_lock_step_are_each_as_if_alone():
    place = gd.space(kind=list(KINDS), number=range(1, 21), angle=gd.Torus(2))

    def f(p):
        return (p["kind"] != "b") + abs(p["number"] - 4) / 5 + (1 - np.cos(p["angle"] - 1)).sum()

    starts = place.manifold.random_point(5, (3,))
    many = gd.minimize(gd.from_objective(f), place, starts, budget=90, rng=3)
    rngs = np.random.default_rng(3).spawn(3)
    for j in range(3):
        alone = gd.minimize(gd.from_objective(f), place, starts[j], budget=90, rng=rngs[j])
        assert many.x["kind"][j] == alone.x["kind"] == "b"
        assert many.x["number"][j] == alone.x["number"]
        np.testing.assert_allclose(many.x["angle"][j], alone.x["angle"], atol=1e-9)
        assert many.each.duels[j] == alone.duels


def test_executors_and_torch():
    torch = pytest.importorskip("torch")
    place = gd.space(kind=list(KINDS), number=range(1, 21), angle=gd.Torus(2))

    def f(p):
        off = 1 - torch.cos(p["angle"] - 1)
        return float((p["kind"] != "b") + abs(p["number"] - 4) / 5 + off.sum())

    x0 = torch.asarray(place.manifold.random_point(0))
    result = gd.minimize(gd.from_objective(f), place, x0, budget=120, rng=0, workers=2)
    assert (result.x["kind"], result.x["number"]) == ("b", 4)
    assert f(result.x) < 1e-6


def test_x_tol_ends_a_run_after_a_last_look():
    result = gd.minimize(gd.from_objective(loss), SPACE, x_tol=1e-3, budget=2000, rng=0)
    assert result.stop_reason == "x_tol"
    assert values(result.x) == BEST
    assert result.uncertainty is not None
    assert result.uncertainty <= 1e-3


def together(p):
    """Two categories that are better only together, at a place of their own; else a bowl."""
    a, b = KINDS.index(p["a"]), KINDS.index(p["b"])
    if (a, b) == (3, 1):
        return float((p["x"] - 2) ** 2 - 1)
    return float(a + b + (p["x"] - 1) ** 2)


PAIR = gd.space(a=list(KINDS), b=list(KINDS), x=gd.Euclidean(1))


def test_what_is_left_of_a_budget_looks_for_pairs_of_values():
    """From the best single values, no change of one value leads to the best two."""
    start, oracle = {"a": "a", "b": "a", "x": 0.0}, gd.from_objective(together)
    run = {"manifold": PAIR, "x0": start, "budget": 1500}
    one = gd.minimize(oracle, **run, method=Mixed(restarts=0), rng=0)
    assert (one.x["a"], one.x["b"], one.duels < 400) == ("a", "a", True)
    runs = [gd.minimize(oracle, **run, rng=seed) for seed in (2, 5, 6)]
    found = [r for r in runs if (r.x["a"], r.x["b"]) == ("d", "b")]
    assert found  # by runs that begin elsewhere: not in each budget
    assert all(abs(r.x["x"] - 2) < 1e-7 for r in found)
    assert {r.stop_reason for r in runs} == {"resolution"}
    assert all(r.duels > one.duels for r in runs)


def test_runs_to_one_optimum_end_before_a_large_budget():
    oracle = gd.from_objective(lambda p: float((p["k"] != "b") + (p["n"] - 7) ** 2))
    space = gd.space(k=["a", "b"], n=range(30))
    result = gd.minimize(oracle, space, {"k": "a", "n": 0}, budget=10_000, rng=0)
    assert result.x == {"k": "b", "n": 7}
    assert result.stop_reason == "values"
    assert 50 < result.duels < 1_000


def test_every_other_run_begins_with_two_other_values():
    """They are drawn anew at the best point so far; of a range of numbers any other one."""
    space = gd.Product(*[gd.Categories("a", "b", "c")] * 4, gd.Integers(1, 9), gd.Integers(1, 9))
    champion, rng = np.array([0.0, 1.0, 2.0, 0.0, 5.0, 9.0]), np.random.default_rng(0)
    before = Restarted(None, champion, 1.0, run=0)
    begun = [Mixed()._restarted(space, before, rng).local.point for _ in range(20)]
    assert [int(np.sum(x != champion)) for x in begun] == [2] * 20


@pytest.mark.parametrize("numbers", [range(2**31), gd.Integers(1, 2**52, ratios=True)])
def test_millions_of_whole_numbers_are_not_listed(numbers):
    oracle = gd.from_objective(lambda p: abs(p["a"] - 7))
    result = gd.minimize(oracle, gd.space(a=numbers), budget=200, rng=0)
    assert result.x["a"] == 7
    assert result.runs > 1


def test_a_walk_begins_again_anywhere_in_its_set():
    space = gd.space(a=["u", "v"], x=(gd.Euclidean(2), [(100, 110)] * 2))
    method, rng = Mixed(domain=space), np.random.default_rng(0)
    before = Restarted(None, np.array([1.0, 102.0, 102.0]), 1.0, run=1)
    begun = [method._restarted(space.manifold, before, rng).local.point[1:] for _ in range(20)]
    assert np.std(begun, axis=0).min() > 2
    first = [gd.minimize(lambda x, y: 1, space, budget=1, rng=seed).x["x"] for seed in range(8)]
    assert np.std(first, axis=0).min() > 1


def test_restarts_are_for_budgets_without_an_accuracy():
    assert Mixed().spending().restarts == np.inf
    assert Mixed(restarts=0).spending().restarts == 0
    assert Mixed(gd.Auto(restarts=0)).spending().restarts is None
    assert Mixed(gd.Auto(x_tol=1e-3)).spending().restarts is None
    assert Mixed(gd.Auto(min_radius=0.1)).spending().restarts is None
    assert Mixed(gd.RDNGD(step_size=0.1)).spending().restarts == np.inf  # it has no such settings


def test_studies_ask_about_values_and_go_on_after_loading(tmp_path):
    """The questions after loading are those of a study that was not interrupted."""
    url = f"sqlite:///{tmp_path / 'net.db'}"
    place = gd.space(kind=["a", "b", "c"], number=range(1, 9), angle=gd.Torus(2))

    def f(p):
        return (p["kind"] != "b") + abs(p["number"] - 4) + (1 - np.cos(p["angle"] - 1)).sum()

    straight = gd.create_study(place, rng=4)
    broken = gd.create_study(place, storage=url, study_name="net", rng=4)
    assert straight.method_name == "Mixed"
    for k in range(60):
        for study in (straight, broken):
            duel = study.ask()
            study.tell(duel, "a" if f(duel.a) < f(duel.b) else "b")
        if k % 20 == 7:
            broken = gd.load_study("net", url)
    assert [str(d.a) for d in straight.duels] == [str(d.a) for d in broken.duels]
    found = broken.recommend()
    assert (found["kind"], found["number"]) == ("b", 4)
    assert type(found["number"]) is int
    path = tmp_path / "net.jsonl"
    broken.export(path)
    copy = gd.import_study(path, study_name="copy")
    assert str(copy.recommend()) == str(found)
    assert str(copy.ask().a) == str(broken.ask().a)


def test_options_of_a_study_are_those_of_what_walks(tmp_path):
    url = f"sqlite:///{tmp_path / 's.db'}"
    study = gd.create_study(SPACE, storage=url, study_name="s", rng=0, min_radius=0.2)
    assert study.method.method.min_radius == 0.2
    same = {"storage": study.storage, "study_name": "s", "load_if_exists": True}
    gd.create_study(SPACE, min_radius=0.2, **same)
    with pytest.raises(ArgumentError, match=r"min_radius=0\.1 differs"):
        gd.create_study(SPACE, min_radius=0.1, **same)
    with pytest.raises(ArgumentError, match="'auto' is 'auto' here, which has no option 'batch'"):
        gd.create_study(SPACE, batch=3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Mixed(restarts=3), "Mixed restarts must be 0, inf or None, got 3"),
        (lambda: Mixed("auto"), "Mixed method must be a Method, got 'auto'"),
        (
            lambda: Mixed(gd.Auto(domain=gd.Ball(gd.Torus(1), np.zeros(1), 1.0))),
            "Mixed method has a domain of its own",
        ),
        (
            lambda: gd.minimize(loss_of_two, SPACE, BEST | {"kind": "x", "mix": MIX, "angle": 0}),
            r"x0\['kind'\] must be one of 'a'",
        ),
        (
            lambda: gd.minimize(loss_of_two, SPACE, domain=lambda p: p["number"] > 3, budget=9),
            "a domain goes factor by factor",
        ),
        (
            lambda: gd.minimize(
                loss_of_two, SPACE.manifold, among=SPACE.manifold.random_point(0, (9,)), budget=9
            ),
            "among= takes no categories and integers",
        ),
        (lambda: gd.create_study(SPACE, choices=3), "choices=3 is for methods made for people"),
        (lambda: Mixed(gd.DuelNewton(ranking=4)), "ranking=4"),
    ],
)
def test_bad_arguments_are_named(make, words):
    with pytest.raises(ArgumentError, match=words):
        make()


def loss_of_two(a, b):
    return int(np.sign(loss(a) - loss(b)))


def test_it_asks_as_many_at_once_and_ends_as_the_method_of_the_continuous_factors():
    inner = gd.DuelNewton(parallel=3, x_tol=0.25)
    assert (Mixed(inner).parallel, Mixed(inner).x_tol) == (3, 0.25)
    for method in (inner, METHODS["one-plus-one"]()):
        assert Mixed(method).feasible_first == method.feasible_first
