"""LockStep: every problem of many does what it would do alone."""

import warnings
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import geoduel as gd
from geoduel import optimize
from geoduel.errors import DivergenceWarning, GeoduelWarning, OracleError, OutOfRangeError
from geoduel.methods import lock_step
from geoduel.methods.base import SOUND
from geoduel.methods.named import METHODS
from geoduel.methods.people.questions import QuestionMethod

N = 4
SINGLE = sorted(
    name for name, kind in METHODS.items() if kind.single and not issubclass(kind, QuestionMethod)
)
EXACT = sorted({*SINGLE} - {"auto", "duel-newton"})  # no step works on many problems together
PLANE = gd.Euclidean(3)
STARTS = np.random.default_rng(3).standard_normal((N, 3))
CENTRES = np.linspace(-1, 1, 3 * N).reshape(N, 3)
SCALES = np.array([1.0, 3.0, 9.0])


def bowls(x):
    """Problem i has its optimum at CENTRES[i]."""
    return (x - CENTRES) ** 2 @ SCALES


def bowl(i):
    return gd.from_objective(lambda x: (x - CENTRES[i]) ** 2 @ SCALES, vectorized=True)


def together(oracle=None, x0=STARTS, seed=0, manifold=PLANE, **options):
    oracle = gd.from_objective(bowls, vectorized=True) if oracle is None else oracle
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeoduelWarning)
        return gd.minimize(oracle, manifold, x0, rng=rng, **options)


def alone(i, oracle=None, seed=0, manifold=PLANE, x0=STARTS, **options):
    rng = np.random.default_rng(seed).spawn(len(x0))[i]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeoduelWarning)
        return gd.minimize(oracle or bowl(i), manifold, x0[i], rng=rng, **options)


def same(many, i, one, atol=0.0):
    assert many.each.duels[i] == one.duels
    assert many.each.ties[i] == one.ties
    assert many.each.stop_reason[i] == one.stop_reason
    np.testing.assert_allclose(many.x[i], one.x, rtol=0, atol=atol)
    np.testing.assert_allclose(many.x_last[i], one.x_last, rtol=0, atol=atol)
    for name in ("noise", "uncertainty"):
        told, known = getattr(many.each, name)[i], getattr(one, name)
        np.testing.assert_allclose(told, np.nan if known is None else known, rtol=1e-6)


@pytest.mark.parametrize("method", EXACT)
def test_to_the_last_bit(method):
    many = together(method=method, budget=100)
    for i in range(N):
        same(many, i, alone(i, method=method, budget=100))


@pytest.mark.parametrize("method", ["auto", "duel-newton"])
@pytest.mark.parametrize("x_tol", [1e-3, None])
def test_the_default_up_to_rounding(method, x_tol):
    many = together(method=method, budget=150, x_tol=x_tol)
    for i in range(N):
        same(many, i, alone(i, method=method, budget=150, x_tol=x_tol), atol=1e-10)


@pytest.mark.parametrize("method", ["auto", "duel-csa"])
def test_in_a_domain(method):
    ball = gd.Ball(PLANE, np.zeros(3), 0.8)
    x0 = 0.1 * STARTS
    options = {"method": method, "domain": ball, "budget": 120}
    many = together(x0=x0, **options)
    assert np.all(ball.contains(many.x))
    for i in range(N):
        same(many, i, alone(i, x0=x0, **options))


def test_rivals_in_a_domain_do_not_show_what_is_outside():
    ball, seen = gd.Ball(PLANE, np.zeros(3), 0.8), []

    def watched(x):
        seen.append(x)
        return bowls(x)

    options = {"method": "one-plus-one", "domain": ball, "budget": 60}
    oracle = gd.from_objective(watched, vectorized=True)
    many = together(oracle, x0=0.1 * STARTS, **options)
    assert all(np.all(ball.contains(x)) for x in seen)
    for i in range(N):
        same(many, i, alone(i, x0=0.1 * STARTS, **options))


@pytest.mark.parametrize("method", ["auto", "nelder-mead"])
def test_problems_have_no_effect_on_each_other(method):
    """The first two of four, and the same two without the others."""
    four = together(method=method, budget=80)
    oracle = gd.from_objective(lambda x: (x - CENTRES[:2]) ** 2 @ SCALES, vectorized=True)
    two = together(oracle, x0=STARTS[:2], method=method, budget=80)
    np.testing.assert_allclose(four.x[:2], two.x, atol=1e-12)
    np.testing.assert_array_equal(four.each.duels[:2], two.each.duels)


@pytest.mark.parametrize("method", ["auto", "duel-csa", "stp"])
def test_those_that_have_ended_are_not_asked(method):
    """An oracle for single pairs sees no pair that only fills the arrays."""
    count = 0

    def oracle(x, y):
        nonlocal count
        count += 1
        f = [float((p - 1) ** 2 @ SCALES) for p in (x, y)]
        return int(np.sign(f[0] - f[1]))

    x0 = np.array([[2.0, 2, 2], [1.0001, 1, 1], [-50, 9, 3]])
    options = {} if method == "stp" else {"x_tol": 1e-2}
    result = together(oracle, x0=x0, method=method, budget=400, **options)
    assert count == result.each.duels.sum()
    assert result.duels == result.each.duels.max()
    if options:
        assert set(result.each.stop_reason.tolist()) == {"x_tol"}
        assert len(set(result.each.duels.tolist())) > 1


@pytest.mark.parametrize("budget", [1, 5, 17, 60])
@pytest.mark.parametrize("method", ["auto", "duel-csa", "block"])
def test_no_problem_exceeds_its_budget(method, budget):
    result = together(method=method, budget=budget)
    assert np.all(result.each.duels <= budget)
    assert result.stop_reason == "budget"
    assert np.isfinite(result.x).all()


def test_wrong_answers_are_noticed_in_each_problem():
    def noisy(flip):
        return gd.Noisy(gd.from_objective(bowls, vectorized=True), flip=flip, rng=0)

    clean, wrong = (together(noisy(p), budget=600) for p in (0.0, 0.2))
    assert np.all(clean.each.noise == 0)
    assert np.all((wrong.each.noise > 0.05) & (wrong.each.noise < 0.4))
    assert wrong.noise == pytest.approx(wrong.each.noise.mean())
    distances = np.linalg.norm(wrong.x - CENTRES, axis=1)
    assert np.all(distances < 0.2 * np.linalg.norm(STARTS - CENTRES, axis=1))


def test_reasons_may_differ():
    """A flat function beside bowls ends with ties, and takes none of the others along."""

    def f(x):
        values = bowls(x)
        return np.where(np.arange(N) == 2, 0.0, values)

    result = together(gd.from_objective(f, vectorized=True), x_tol=1e-3, budget=2000)
    assert result.stop_reason == "mixed"
    assert "each.stop_reason" in result.message
    assert result.each.stop_reason[2] in ("ties", "resolution")
    assert np.all(result.each.stop_reason[[0, 1, 3]] == "x_tol")
    assert result.success == (result.each.stop_reason[2] == "resolution")
    np.testing.assert_array_equal(result.x[2], STARTS[2])
    np.testing.assert_allclose(result.x[[0, 1, 3]], CENTRES[[0, 1, 3]], atol=1e-3)


def test_one_without_a_minimum_does_not_stop_the_others():
    def f(x):
        return np.where(np.arange(N) == 1, x[..., 0], bowls(x))

    rng = np.random.default_rng(0)
    with pytest.warns(DivergenceWarning):
        result = gd.minimize(
            gd.from_objective(f, vectorized=True), PLANE, STARTS, budget=30_000, x_tol=1e-3, rng=rng
        )
    assert result.each.stop_reason[1] == "diverges"
    assert np.all(result.each.stop_reason[[0, 2, 3]] == "x_tol")
    assert np.isfinite(result.x).all()


def test_one_that_goes_beyond_digits_ends_as_alone_and_the_other_goes_on():
    """About an optimum at zero duels tell points apart whose squares are no numbers any more."""
    unit = 1e-150
    centres = unit * np.array([[0.0, 0.0], [3.0, 5.0]])
    oracle = gd.from_objective(lambda x: np.abs((x - centres) / unit).sum(axis=-1), vectorized=True)
    x0 = unit * np.array([[1.0, -1.0], [1.0, 2.0]])
    options = {"method": "duel-newton", "initial_step": unit, "budget": 600}
    result = together(oracle, x0, manifold=gd.Euclidean(2), **options)
    assert result.each.stop_reason[0] == "resolution"
    assert np.abs(result.x[0]).max() < 1e-153
    np.testing.assert_allclose(result.x[1], centres[1], rtol=1e-3)


def test_several_leading_axes():
    oracle = gd.from_objective(lambda x: np.vecdot(x, x), vectorized=True)
    x0 = STARTS.reshape(2, 2, 3)
    square = together(oracle, x0=x0, budget=60)
    flat = together(oracle, x0=STARTS, budget=60)
    assert square.x.shape == (2, 2, 3)
    assert square.each.duels.shape == (2, 2)
    np.testing.assert_array_equal(square.x.reshape(N, 3), flat.x)


def test_no_problems():
    oracle = gd.from_objective(lambda x: np.vecdot(x, x), vectorized=True)
    result = together(oracle, x0=np.zeros((0, 3)), budget=60)
    assert result.x.shape == (0, 3)
    assert result.duels == 0


def test_tensors_in_and_out():
    torch = pytest.importorskip("torch")
    centres, scales = torch.asarray(CENTRES), torch.asarray(SCALES)
    oracle = gd.from_objective(lambda x: ((x - centres) ** 2) @ scales, vectorized=True)
    ours = together(budget=100)
    theirs = together(oracle, x0=torch.asarray(STARTS), budget=100)
    assert theirs.x.dtype == torch.float64
    assert theirs.x.shape == (N, 3)
    np.testing.assert_allclose(theirs.x.numpy(), ours.x, atol=1e-9)
    single = together(oracle, x0=torch.asarray(STARTS), method="duel-csa", budget=60)
    np.testing.assert_allclose(single.x.numpy(), together(method="duel-csa", budget=60).x)


def test_an_oracle_that_fails_loses_nothing():
    asked = 0

    def f(x):
        nonlocal asked
        asked += 1
        if asked > 40:
            raise RuntimeError("no more")
        return bowls(x)

    with pytest.raises(OracleError, match="no more") as caught:
        together(gd.from_objective(f, vectorized=True), budget=2000)
    found = caught.value.result
    assert np.all(bowls(found.x) < bowls(STARTS))
    assert found.each.duels.min() > 0


def test_parallel_limits_the_duels_of_a_problem_at_once():
    widest = 0

    def f(x):
        nonlocal widest
        widest = max(widest, len(x))
        return bowls(x)

    together(gd.from_objective(f, vectorized=True), budget=60, parallel=2)
    assert widest <= 4  # both ends of each


def test_a_run_of_many_can_be_logged_and_goes_on(tmp_path):
    options = {"budget": 60, "log": tmp_path / "run.log", "rng": 0}
    oracle = gd.from_objective(bowls, vectorized=True)
    first = gd.minimize(oracle, PLANE, STARTS, iterations=3, **options)
    again = gd.minimize(oracle, PLANE, STARTS, **options)
    whole = gd.minimize(oracle, PLANE, STARTS, budget=60, rng=0)
    assert first.iterations == 3
    np.testing.assert_array_equal(again.x, whole.x)


@pytest.mark.parametrize("method", ["auto", "duel-csa"])
def test_the_dtype_is_kept(method):
    x0 = STARTS.astype(np.float32)
    result = together(x0=x0, method=method, x_tol=1e-2, budget=600)
    assert result.x.dtype == np.float32
    np.testing.assert_allclose(result.x, CENTRES, atol=0.02)


class At(NamedTuple):
    """State of `Fails`."""

    point: np.ndarray
    best: np.ndarray
    k: int = 0


@dataclass(frozen=True)
class Fails(gd.Method):
    """Moves by 0.1; from starts with a negative first coordinate something else happens."""

    single: ClassVar[bool] = True
    how: str = ""

    def start(self, manifold, x0, rng):
        return At(x0, x0)

    def step(self, manifold, state, rng):
        x, bad = state.point, state.best[0] < 0 and state.k >= SOUND + 2
        if bad and self.how == "too far":
            raise OutOfRangeError("too far out")
        if bad and self.how == "fault":
            raise ZeroDivisionError("a fault of the method")
        if self.how == "leaves and fails" and np.isnan(x).any():
            raise ValueError("of a point that is none")
        if not (bad and self.how == "asks nothing"):
            yield x, x + 0.1
        away = np.nan if bad and "leaves" in self.how else 0.1
        return At(x + away, state.best, state.k + 1)


PAIR = np.array([[-1.0, 0.0], [1.0, 0.0]])  # the first problem fails, the second does not


def failing(how, steps):
    oracle = gd.from_objective(lambda x: np.vecdot(x, x), vectorized=True)
    return together(oracle, x0=PAIR, manifold=gd.Euclidean(2), method=Fails(how), iterations=steps)


@pytest.mark.parametrize("how", ["too far", "leaves", "leaves and fails"])
@pytest.mark.parametrize("steps", [SOUND + 3, 2 * SOUND, 2 * SOUND + 9])  # at once, or later
def test_a_problem_whose_run_leaves_the_manifold_ends_alone(how, steps):
    """It goes back to where it was last seen to be sound, and the others go on."""
    result = failing(how, steps)
    assert result.each.stop_reason.tolist() == ["diverges", "iterations"]
    np.testing.assert_allclose(result.x_last, PAIR + 0.1 * np.array([[SOUND], [steps]]))
    assert result.each.duels[1] == steps


def test_a_fault_of_the_method_in_one_problem_is_raised_as_it_is():
    with pytest.raises(ZeroDivisionError, match="of the method") as caught:
        failing("fault", 2 * SOUND)
    assert caught.value.result.each.duels.tolist() == [SOUND + 2, SOUND + 3]


@pytest.fixture
def _soon_idle(monkeypatch):
    for module in (lock_step, optimize):
        monkeypatch.setattr(module, "IDLE", 20)  # pairs or steps, of a thousand


@pytest.mark.usefixtures("_soon_idle")
def test_a_problem_that_asks_nothing_any_more_ends_alone():
    result = failing("asks nothing", SOUND + 40)
    assert result.each.stop_reason.tolist() == ["idle", "iterations"]
    assert result.each.duels.tolist() == [SOUND + 2, SOUND + 40]
    method, plane = Fails("asks nothing"), gd.Euclidean(2)
    oracle = gd.from_objective(lambda x: x @ x)
    one = alone(0, oracle, manifold=plane, x0=PAIR, method=method, iterations=SOUND + 40)
    np.testing.assert_array_equal(result.x_last[0], one.x_last)


@dataclass(frozen=True)
class AsksBeyond(Fails):
    """Where x < 0, the second step asks about many points that the domain refuses."""

    domain: gd.Domain | None = None

    feasible_first: ClassVar[bool] = True

    def step(self, manifold, state, rng):
        for _ in range(100 if state.best[0] < 0 and state.k == 1 else 0):
            yield state.point + 10, state.point + 9
        yield state.point, state.best
        return At(state.point + 0.1, state.best, state.k + 1)


@pytest.mark.usefixtures("_soon_idle")
def test_a_problem_whose_duels_the_domain_decides_ends_alone():
    domain, oracle = gd.L2Ball(2, 3.0), gd.from_objective(lambda x: np.vecdot(x, x))
    options = {"method": AsksBeyond(domain=domain), "manifold": gd.Euclidean(2), "iterations": 9}
    result = together(oracle, x0=PAIR, **options)
    assert result.each.stop_reason.tolist() == ["idle", "iterations"]
    for i in range(2):
        same(result, i, alone(i, oracle, x0=PAIR, **options))


@pytest.mark.usefixtures("_soon_idle")
@pytest.mark.parametrize("domain", [gd.Box(np.zeros(3), [1, 1, 0]), gd.ProbabilitySimplex(3)])
def test_ranks_in_a_set_without_interior_end_as_alone(domain):
    oracle, x0 = gd.from_objective(lambda x: x[..., 0], vectorized=True), domain.project(STARTS)
    options = {"method": "rank-sgd", "domain": domain, "budget": 40, "x0": x0}
    result = together(oracle, **options)
    assert result.stop_reason == "idle"
    for i in range(N):
        same(result, i, alone(i, oracle, **options))
