"""Questions and answers for the tests of the methods for people."""

import numpy as np
import pytest

import geoduel as gd
from geoduel.methods.frame import Frame
from geoduel.methods.people.chart import Chart
from geoduel.methods.people.perception import (
    OTHERS,
    Answers,
    Perception,
    Prior,
    log_prior_of_length,
)
from geoduel.methods.people.strengths import USAGE


def unasked(d: int) -> tuple[gd.Euclidean, Chart, Answers]:
    """A flat space, a chart there, and no answers yet."""
    manifold = gd.Euclidean(d)
    chart = Chart.about(manifold, Frame(np.zeros(d), np.eye(d)), 0.5, np.zeros(d))
    return manifold, chart, Answers.none(np.zeros(d)).in_chart(manifold, chart)


@pytest.fixture(scope="session")
def flat_answers():
    """Random questions on a flat space, in a chart there, answered at random."""

    def make(rng: np.random.Generator, n: int, d: int = 2) -> Answers:
        manifold, chart, answers = unasked(d)
        for _ in range(n):
            a, b = rng.standard_normal((2, d))
            answer, left = (int(rng.integers(-1, 2)) for _ in range(2))
            answers = answers.append(Answers.one(manifold, chart, a, b, answer, left, 0))
        return answers

    return make


@pytest.fixture(scope="session")
def flat_strengths():
    """Random duels on a flat space, each answered with a strength, by a rater who is half known."""

    def make(rng: np.random.Generator, n: int, d: int = 2) -> Answers:
        manifold, chart, answers = unasked(d)
        for _ in range(n):
            a, b = rng.standard_normal((2, d))
            answer, left = (int(x) for x in rng.choice([-1, 1], 2))
            strength = int(rng.integers(1, 3))
            new = Answers.one(manifold, chart, a, b, answer, left, 0, strength)
            answers = answers.append(new)
        usage = rng.dirichlet(np.ones(USAGE - 1))
        return answers.meant(0, np.append(usage, rng.random()))

    return make


@pytest.fixture(scope="session")
def flat_choices():
    """Two duels, a choice of the best of three and one of the best of four, on a flat space."""

    def make(rng: np.random.Generator, d: int = 2) -> Answers:
        manifold, chart, answers = unasked(d)
        for k in (2, 3, 4, 2):
            points = rng.standard_normal((k, d))
            a, b = np.repeat(points[:1], k - 1, axis=0), points[1:]
            answers = answers.append(Answers.one(manifold, chart, a, b, -1, 0, 0))
        return answers

    return make


@pytest.fixture(scope="session")
def from_prior():
    """Draws n particles of a model from the prior of people, centred at the origin of a chart."""

    def draw(rng: np.random.Generator, model: Perception, n: int, prior: Prior) -> np.ndarray:
        r = prior.radius * np.geomspace(1e-4, 1e3, 20_001)
        logp, _ = log_prior_of_length(r * r, prior, model.d)
        cumulated = np.cumsum(r ** (model.d - 1) * np.exp(logp) * np.gradient(r))
        lengths = np.interp(rng.random(n) * cumulated[-1], cumulated, r)
        c = rng.standard_normal((n, model.d))
        c *= (lengths / np.linalg.norm(c, axis=1))[:, None]
        return model.draw(rng, c, rng.standard_normal((n, OTHERS)))

    return draw


@pytest.fixture(scope="session")
def ask_and_answer():
    """Lets a person answer n questions: the state, and what was asked and answered."""

    def play(method, manifold, x0, person, n, seed=0):
        rng = np.random.default_rng(seed)
        state, asked = method.start(manifold, x0, rng), []
        for _ in range(n):
            a, b = method.propose(manifold, state, rng)
            answer = person.answer(a, b, 1)
            asked.append((a, b, answer))
            state = method.update(manifold, state, a, b, answer, rng, left=1)
        return state, asked

    return play
