"""What answers do to the particles: moves that keep the posterior, in any chart."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import geoduel as gd
from geoduel.methods.people.cloud import anywhere, deviation, hear_early, middle
from geoduel.methods.people.particles import (
    ALIKE,
    PARTICLES,
    Population,
    fold,
    hear,
    judge,
    median,
    moments,
    move,
    recentre,
    resample,
    settle,
    weigh,
)
from geoduel.methods.people.perception import (
    MOST_TILT,
    OTHERS,
    TILT,
    WARY_TILT,
    Perception,
    Prior,
    Traits,
)
from geoduel.methods.people.strengths import CLEARLY, SLIGHTLY, THRESHOLDS, unheard
from geoduel.oracles import draw_person

SPHERE, NORTH = gd.Sphere(3), np.eye(3)[0]
PRIOR = Prior(np.pi / 4, 0.002, 0.16)


def rng(seed=0):
    return np.random.default_rng(seed)


def questions(n, seed=0):
    """Wide ones about the start, with a person's answers."""
    draw, person = rng(seed), draw_person(SPHERE, NORTH, rng(seed + 50))
    for _ in range(n):
        a, b = SPHERE.exp_pair(NORTH, 1.2 * SPHERE.unit_tangent(draw, NORTH))
        yield a, b, person.answer(a, b, 1)


def before_answers(draw):
    """The prior, in a chart about the start."""
    return settle(SPHERE, anywhere(SPHERE, NORTH, PRIOR, draw), NORTH, PRIOR.radius / 2, draw)


def learned(n, seed=0, keep=200, work=84_000):
    """What is believed after n answers, given one by one."""
    draw = rng(seed)
    belief = before_answers(draw)
    for a, b, answer in questions(n):
        belief = weigh(hear(SPHERE, belief, a, b, answer, 1, ""))
        belief = move(resample(belief, draw), draw, work)
        belief = recentre(SPHERE, fold(belief, keep))
    return belief


def where(belief):
    """Median of the ideals on the sphere, and root of the trace of their covariance."""
    people, w = belief.people, belief.weights
    _, spread = moments(people.ideals, w)
    point = belief.chart.frame.at(SPHERE, median(people.ideals, w))
    return point, np.sqrt(np.trace(spread))


def same_posterior(one, two):
    """Up to the Monte Carlo error of the particles."""
    (x, r), (y, s) = where(one), where(two)
    return SPHERE.dist(x, y) < r and 0.5 < s / r < 2


def test_before_answers_the_particles_are_the_prior():
    belief = before_answers(rng())
    people, w = belief.people, belief.weights
    metric = belief.populations[-1]
    assert w.sum() == pytest.approx(1)
    assert w[: sum(PARTICLES[0])].sum() == pytest.approx(ALIKE, abs=0.05)  # tilts are drawn
    assert np.array_equal(people.factors[0], np.eye(2))
    assert np.array_equal(people.ideals[-1], metric.particles[-1, :2])
    assert np.array_equal(people.others[-1], metric.particles[-1, 2 : 2 + OTHERS])
    # Three quarters within the radius, but for the core; 1000 particles.
    inside = np.mean(np.linalg.norm(people.ideals, axis=1) < PRIOR.radius)
    assert inside == pytest.approx(3 / 4, abs=0.05)
    assert len(belief.answers.answer) == 0
    assert np.allclose(belief.chart.frame.at(SPHERE, belief.chart.origin), NORTH, atol=1e-9)


def test_settling_keeps_where_the_belief_is_and_what_was_answered():
    """Within a deviation; the metric's evidence is what it explains better or worse."""
    draw = rng()
    cloud = anywhere(SPHERE, NORTH, PRIOR, draw)
    for k, (a, b, answer) in enumerate(questions(8)):
        cloud = hear_early(SPHERE, cloud, a, b, answer, 1, f"{k % 2}", draw)
    centre = middle(SPHERE, cloud)
    size = deviation(SPHERE, cloud, centre)
    belief = settle(SPHERE, cloud, centre, size, draw)
    point, spread = where(belief)
    assert SPHERE.dist(point, centre) < size
    assert 0.5 < spread / np.sqrt(2) / size < 2
    assert belief.raters == cloud.raters == (("0", "1"), (4, 4), (4, 4))
    assert belief.offsets.shape == (2, OTHERS)
    assert np.array_equal(belief.answers.answer, cloud.answers.answer)
    assert np.allclose(belief.chart.frame.at(SPHERE, belief.chart.origin), NORTH, atol=1e-6)
    w = belief.weights
    assert w.sum() == pytest.approx(1)
    assert 0.02 < w[: sum(PARTICLES[0])].sum() < 0.98


def test_settling_without_a_start_has_no_place_where_the_prior_is_centred():
    draw = rng()
    cloud = anywhere(SPHERE, NORTH, PRIOR._replace(radius=np.inf), draw)
    belief = settle(SPHERE, cloud, NORTH, 1.0, draw)
    people = belief.people
    assert np.isfinite(people.ideals).all()


def test_hear_adds_an_answer_of_a_rater_and_remembers_ties():
    belief = before_answers(rng())
    a, b, _ = next(questions(1))
    for rater, answer in (("ann", 1), ("bob", 0), ("ann", -1)):
        belief = hear(SPHERE, belief, a, b, answer, 1, rater)
        assert belief.prior.ties == (rater == "bob" or answer == -1)
    assert belief.answers.answer.tolist() == [1, 0, -1]
    assert belief.answers.rater.tolist() == [0, 1, 0]
    assert belief.raters == (("ann", "bob"), (2, 1), (2, 1))
    assert np.array_equal(belief.offsets, np.zeros((2, OTHERS)))


def test_who_calls_wide_differences_slight_is_taken_to_mean_more_by_it():
    """And who calls them clear, less, than people do of whom nothing is known."""
    means = []
    for strength in (CLEARLY, 0, SLIGHTLY):
        belief = before_answers(rng())
        for a, b, answer in questions(4):
            belief = hear(SPHERE, belief, a, b, answer, 1, "ann", strength)
        heard = belief.answers.usage[:, -1] if strength else unheard()
        means.append(np.average(THRESHOLDS, weights=heard[: len(THRESHOLDS)]))
    assert 1.1 * means[0] < means[1] < means[2] / 1.1


def test_weigh_is_bayes_rule():
    """In each population; before answers the mixture of two makes the prior of either."""
    belief = before_answers(rng())
    ((a, b, answer),) = questions(1)
    heard = hear(SPHERE, belief, a, b, answer, 1, "")
    for before, after in zip(heard.populations, weigh(heard).populations, strict=True):
        logp, _ = before.model.log_likelihood(before.particles, heard.answers, PRIOR)
        assert np.allclose(after.logw, before.logw + logp, rtol=1e-6)


def test_particles_of_both_priors_of_tilts_count_for_either():
    """Weighted lengths of the tilts have the medians of the two laws, as far as these reach."""
    belief = before_answers(rng())
    people, usual = belief.people, belief.weights
    lengths = np.linalg.norm(people.tilts, axis=1)
    for w, (scale, freedom) in ((usual, TILT), (belief.wary_weights, WARY_TILT)):
        law = stats.f(2, freedom)
        median_length = scale * np.sqrt(law.ppf(law.cdf((MOST_TILT / scale) ** 2) / 2))
        assert w.sum() == pytest.approx(1)
        assert w[lengths < median_length].sum() == pytest.approx(0.5, abs=0.1)
        assert 1 / (w @ w) > 0.4 * len(w)
        assert w.max() < 6 / len(w)  # at most twice the mean, and metrics have shares of their own


def test_judge_leaves_one_rater_as_they_are_and_finds_the_one_who_contradicts():
    belief = learned(12)
    assert judge(belief, rng()) is belief
    for a, b, answer in questions(12):
        belief = judge(hear(SPHERE, belief, a, b, -answer, 1, "contrary"), rng())
    usual, contrary = belief.offsets
    assert np.array_equal(usual, np.zeros(OTHERS))
    assert contrary[0] > 0.5 or contrary[1] > 0.5


def test_who_does_not_look_is_taken_to_lapse_where_somebody_else_looks():
    """Whoever answered last."""
    belief = learned(12)
    ((a, b, answer),) = questions(1)
    for rater in ("ann", "bob"):
        belief = hear(SPHERE, belief, a, b, answer, 1, rater)
    usual = judge(belief, rng()).offsets
    assert np.all(abs(usual[:, 1]) < 1)
    assert np.array_equal(judge(belief, rng(), [0.9, 0.9, 0.8]).offsets, usual)
    assert np.array_equal(judge(belief, rng(), [0.1, 0.0, 0.2]).offsets, usual)  # nobody looks
    coin = judge(belief, rng(), [0.9, 0.1, 0.8]).offsets
    lapses = Traits.of(np.zeros((1, OTHERS)), PRIOR, coin).lapse[0]
    assert lapses[1] > 0.8
    assert max(lapses[0], lapses[2]) < 0.1


def population(logw, particles=None):
    particles = np.arange(2.0 * len(logw)).reshape(-1, 2) if particles is None else particles
    D = particles.shape[1]
    folded = np.zeros(D), np.zeros((D, D))
    return Population(Perception(2, False), particles, np.asarray(logw), 0.5, 0, folded)


def test_resampling_puts_copies_last():
    logw = np.full(6, -50.0)
    logw[[1, 4]] = np.log([0.2, 0.4])
    belief = replace(learned(0), populations=(population(logw),))
    (after,) = resample(belief, rng()).populations
    assert after.waiting == 6
    assert after.particles[:, 0].tolist() == [2, 8, 2, 8, 8, 8]
    assert np.exp(after.logw).sum() == pytest.approx(0.6)


def test_where_most_particles_are_effective_none_is_resampled():
    before = population(np.log([0.2, 0.3, 0.25, 0.25]))
    (after,) = resample(replace(learned(0), populations=(before,)), rng()).populations
    assert after is before


def test_a_move_leaves_the_posterior_as_it_is():
    """Particles of the prior, which nothing was learned since, stay distributed as it is."""
    belief = before_answers(rng())
    empty = hear(SPHERE, belief, NORTH, NORTH, 1, 0, "")  # equal points: the answer tells nothing
    all_wait = tuple(p._replace(waiting=len(p.logw)) for p in empty.populations)
    moved, draw = replace(empty, populations=all_wait), rng(1)
    for _ in range(10):
        moved = move(moved, draw)
        moved = replace(
            moved,
            populations=tuple(p._replace(waiting=len(p.logw)) for p in moved.populations),
        )
    for before, after in zip(belief.populations, moved.populations, strict=True):
        n = len(before.logw)
        changed = np.any(before.particles != after.particles, axis=1)
        assert changed.mean() > 0.95
        for j in range(before.particles.shape[1]):
            one, two = before.particles[:, j], after.particles[:, j]
            assert abs(np.mean(one) - np.mean(two)) < 5 * np.std(one) * np.sqrt(2 / n)
            spread = [np.subtract(*np.quantile(x, (0.9, 0.1))) for x in (one, two)]  # heavy tails
            assert 0.75 < spread[1] / spread[0] < 1.33


def test_moves_are_as_many_as_the_work_allows_copies_first():
    """The others wait for later answers; the posterior stays what it is."""
    belief = learned(12)
    waiting = tuple(p._replace(waiting=len(p.logw)) for p in belief.populations)
    belief = replace(belief, populations=waiting)
    after = move(belief, rng(), work=500 * 2 * 12)
    assert [p.waiting for p in after.populations] == [0, 0, 200, 300]
    alike, _, metric, _ = (
        np.all(p.particles == q.particles, axis=1)
        for p, q in zip(after.populations, belief.populations, strict=True)
    )
    assert metric[:200].all()
    assert metric[200:].mean() < 0.6
    assert alike.mean() < 0.6
    assert move(belief, rng(), work=0).populations == belief.populations
    assert same_posterior(learned(30), learned(30, seed=1, work=6000))


def test_folding_old_answers_keeps_the_posterior():
    folded = learned(55, seed=1, keep=32)
    assert len(folded.answers.answer) == 32
    assert sum(folded.raters.answers) == 55
    assert same_posterior(learned(55), folded)


def test_folded_answers_are_a_quadratic_of_the_right_slope_at_the_mean():
    """Of positive curvature; few answers are kept as they are."""
    belief = learned(20)
    assert fold(belief) is belief
    after = fold(belief, keep=5)
    assert np.array_equal(after.answers.answer, belief.answers.answer[15:])
    for before, p in zip(belief.populations, after.populations, strict=True):
        w = np.exp(before.logw - before.logw.max())
        mean = w @ before.particles / w.sum()
        old = belief.answers.part(slice(15))
        _, slope = p.model.log_likelihood(mean[None], old, belief.prior)
        b, H = p.folded
        assert np.allclose(b - H @ mean, slope[0], rtol=1e-3, atol=1e-3)
        assert np.linalg.eigvalsh(H).min() > -1e-6


def test_folding_cuts_no_choice_apart(flat_choices):
    """Of the best of three, two duels; they go together, with the slope of their likelihood."""
    belief = learned(20)
    flat = flat_choices(np.random.default_rng(0))
    size = len(flat.answer)
    picks = np.random.default_rng(1).integers(0, 20, size)
    some = belief.answers.part(picks)._replace(
        choice=flat.choice, answer=flat.answer, left=flat.left
    )
    some = some._replace(a=some.a[flat.choice], logs=some.logs)  # one winner a choice
    some = some.in_chart(SPHERE, belief.chart)
    belief = replace(belief, answers=some)
    after = fold(belief, keep=size - 2)  # the first duel, and half of the first choice
    assert list(after.answers.choices()[1]) == [3, 1]
    for before, p in zip(belief.populations, after.populations, strict=True):
        w = np.exp(before.logw - before.logw.max())
        mean = w @ before.particles / w.sum()
        _, slope = p.model.log_likelihood(mean[None], some.part(slice(3)), belief.prior)
        b, H = p.folded
        assert np.allclose(b - H @ mean, slope[0], rtol=1e-3, atol=1e-3)
        assert np.linalg.eigvalsh(H).min() > -1e-6


def test_recentring_moves_the_chart_and_not_the_ideals():
    belief = before_answers(rng())
    assert recentre(SPHERE, belief) is belief  # the prior is centred
    for a, b, answer in questions(6):
        belief = weigh(hear(SPHERE, belief, a, b, answer, 1, ""))
    belief = fold(belief, keep=4)
    after = recentre(SPHERE, belief)
    (before, w), (people, v) = ((b.people, b.weights) for b in (belief, after))
    at = [b.chart.frame.at(SPHERE, c.ideals) for b, c in ((belief, before), (after, people))]
    assert np.allclose(*at, atol=1e-9)
    assert np.array_equal(w, v)
    assert np.linalg.norm(v @ people.ideals) < 0.1 * np.linalg.norm(w @ before.ideals)
    start = after.chart.frame.at(SPHERE, after.chart.origin)
    assert np.allclose(start, belief.chart.frame.at(SPHERE, belief.chart.origin), atol=1e-9)
    for one, two in zip(belief.populations, after.populations, strict=True):
        quadratics = []
        for p in (one, two):
            x, (b, H) = p.particles, p.folded
            value = x @ b - 0.5 * np.sum((x @ H) * x, axis=1)
            quadratics.append(value - value.mean())
        size = np.std(quadratics[0])
        assert np.mean(abs(quadratics[0] - quadratics[1])) < 0.3 * size  # frames turn on a sphere


def test_moments_and_median_of_a_symmetric_cross_are_its_middle():
    cross = np.array([[3.0, 1.0], [-1.0, 1.0], [1.0, 2.0], [1.0, 0.0]])
    w = np.full(4, 0.25)
    mean, covariance = moments(cross, w)
    assert np.allclose(mean, [1, 1])
    assert np.allclose(covariance, np.diag([2, 0.5]))
    assert np.allclose(median(cross, w), [1, 1])


def test_no_outlier_moves_the_median_as_it_moves_the_mean():
    """Of three points on a line it is the one between the others, however far the last."""
    line = np.array([[0.0], [1.0], [50.0]])
    assert median(line, np.full(3, 1 / 3))[0] == pytest.approx(1.0, abs=1.0)


def test_median_is_the_point_of_least_expected_distance():
    draw = rng()
    c, w = draw.standard_normal((300, 3)), draw.random(300)
    w /= w.sum()
    found = median(c, w)

    def expected(x):
        return w @ np.linalg.norm(c - x, axis=1)

    for step in 0.1 * draw.standard_normal((20, 3)):
        assert expected(found) < expected(found + step)
