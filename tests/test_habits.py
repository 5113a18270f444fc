"""What a newcomer writes in the first hour: the usual tasks in few lines, the usual slips in words.

A task is the lines that a reader would type after the two imports, and what must then hold. Its
number of lines is a promise.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import geoduel as gd
from geoduel import errors
from geoduel.cli import main
from geoduel.methods.named import Settings
from geoduel.oracles.people import Person

CONTRIBUTING = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"

TASKS = {
    "a function on the sphere": (
        3,
        """
        oracle = gd.from_objective(lambda x: -x[2])
        result = gd.minimize(oracle, gd.Sphere(3), rng=0)
        """,
        "result.success and result.x[2] > 1 - 1e-9",
    ),
    "on positive definite matrices": (
        3,
        """
        oracle = gd.from_objective(lambda P: np.linalg.norm(P - np.diag([1.0, 2.0])))
        result = gd.minimize(oracle, gd.SPD(2), budget=150, rng=0)
        """,
        "np.abs(result.x - np.diag([1.0, 2.0])).max() < 1e-2",
    ),
    "on rotations": (
        3,
        """
        oracle = gd.from_objective(lambda R: -np.trace(R))
        result = gd.minimize(oracle, gd.Rotations(3), rng=0)
        """,
        "np.abs(result.x - np.eye(3)).max() < 1e-5",
    ),
    "on a product": (
        3,
        """
        space = gd.Product(gd.Sphere(3), gd.Euclidean(2))
        f = gd.from_objective(lambda x: -space.split(x)[0][2] + (space.split(x)[1] ** 2).sum())
        result = gd.minimize(f, space, budget=200, rng=0)
        """,
        "np.abs(result.x - [0, 0, 1, 0, 0]).max() < 1e-2",
    ),
    "a judge that errs": (
        3,
        """
        oracle = gd.Noisy(gd.from_objective(lambda x: -x[2]), flip=0.1, rng=0)
        result = gd.minimize(oracle, gd.Sphere(3), budget=300, rng=0)
        """,
        "result.x[2] > 0.99 and 0 < result.noise < 0.5",
    ),
    "an accuracy": (
        1,
        "result = gd.minimize(oracle, sphere, x_tol=1e-2, rng=0)",
        "result.stop_reason == 'x_tol' and sphere.dist(result.x, goal) < 1e-2",
    ),
    "a run that goes on after a kill": (
        4,
        """
        for budget in (20, 60):  # the same line, started again
            result = gd.minimize(oracle, sphere, start, budget=budget, rng=0, log="run.log")
        """,
        "(result.x == gd.minimize(oracle, sphere, start, budget=60, rng=0).x).all()",
    ),
    "several workers": (
        2,
        "result = gd.minimize(oracle, sphere, budget=60, workers=4, rng=0)",
        "result.rounds < result.duels",
    ),
    "a judge that answers in words": (
        2,
        """
        judge = gd.from_preference(lambda a, b: " A\\n" if a @ goal > b @ goal else "b.")
        result = gd.minimize(judge, sphere, budget=60, rng=0)
        """,
        "sphere.dist(result.x, goal) < 0.1",
    ),
    "an async judge": (
        3,
        """
        async def prefers(a, b):
            return bool(a @ goal > b @ goal)
        result = gd.minimize(gd.from_preference(prefers), sphere, budget=60, rng=0)
        """,
        "sphere.dist(result.x, goal) < 0.1",
    ),
    "a study in a file": (
        6,
        """
        kept = {"storage": "sqlite:///duels.db", "study_name": "s", "load_if_exists": True}
        study = gd.create_study(gd.Rotations(2), rng=0, **kept)
        for _ in range(3):
            study.tell(study.ask(), "a")
        again = gd.load_study("s", "sqlite:///duels.db")
        """,
        "again.duels == study.duels and (again.best_point == study.best_point).all()",
    ),
    "pictures of one's own": (
        5,
        """
        def render(mix):
            return f"<svg viewBox='0 0 1 1'><circle r='{mix[0]:.3f}'/></svg>"
        study = gd.create_study(gd.Simplex(3), rng=0)
        board = gd.web.Board(study, render)
        """,
        "b'<circle' in board.shown(study.ask(), 'left').data",
    ),
    "a manifold of pymanopt": (
        3,
        """
        import pymanopt
        theirs = gd.from_pymanopt(pymanopt.manifolds.Sphere(3))
        result = gd.minimize(oracle, theirs, budget=60, rng=0)
        """,
        "sphere.dist(result.x, goal) < 0.1",
    ),
    "torch": (
        3,
        """
        import torch
        f = gd.from_objective(lambda x: -x[2])
        result = gd.minimize(f, sphere, torch.eye(3)[0], budget=60, rng=0)
        """,
        "isinstance(result.x, torch.Tensor) and result.x[2] > 0.99",
    ),
    "a curve of convergence": (
        8,
        """
        import matplotlib.pyplot as plt
        gap = lambda x: sphere.dist(x, goal)
        result = gd.minimize(oracle, sphere, budget=60, monitor=gap, rng=0)
        figure, axis = plt.subplots()
        axis.semilogy(result.history.duels, result.history.monitor)
        """,
        "len(axis.lines[0].get_ydata()) > 3",
    ),
}
NEEDS = {"import pymanopt": "pymanopt", "import torch": "torch", "import matplotlib": "matplotlib"}


@pytest.mark.parametrize("task", TASKS)
def test_a_task_takes_few_lines(task, tmp_path, monkeypatch):
    most, code, holds = TASKS[task]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    for line, package in NEEDS.items():
        if line in code and find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    if "gd.web" in code:
        pytest.importorskip("PIL", reason="Pillow is not installed (extra web)")
    goal = np.array([0.6, 0.0, 0.8])
    names = {"np": np, "gd": gd, "sphere": gd.Sphere(3), "goal": goal, "start": np.eye(3)[0]}
    names["oracle"] = gd.from_objective(lambda x: -x @ goal)
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= most
    indent = len(lines[0]) - len(lines[0].lstrip())
    exec("\n".join(line[indent:] for line in lines), names)
    assert eval(holds, names)


@pytest.mark.parametrize(("kind", "most"), [("Manifold", 20), ("Method", 17)])
def test_parts_of_ones_own_take_few_lines(kind, most):
    """The complete examples of CONTRIBUTING, which other tests run: the classes alone."""
    page = CONTRIBUTING.read_text(encoding="utf-8")
    (block,) = re.findall(rf"```python\n((?:(?!```).)*?\(gd\.{kind}\).*?)```", page, re.DOTALL)
    begun = [m.start() for m in re.finditer(r"^(?:@dataclass|class ).*$", block, re.MULTILINE)]
    end = re.search(r"^\w+ = ", block[begun[0] :], re.MULTILINE)
    body = block[begun[0] : begun[0] + end.start()] if end else block[begun[0] :]
    lines = [line for line in body.splitlines() if line.strip()]
    assert len(lines) <= most


def test_two_terminals_share_a_study(tmp_path, monkeypatch, capsys):
    """One program made it; three commands in another terminal ask, answer and look."""
    monkeypatch.chdir(tmp_path)
    gd.create_study(gd.Rotations(2), storage="sqlite:///duels.db", study_name="tilt", rng=0)
    for command in ("ask URL tilt", "tell URL tilt 0 a", "show URL tilt"):
        assert main(command.replace("URL", "sqlite:///duels.db").split()) == 0
    shown = capsys.readouterr().out
    assert "duel 0: a" in shown
    assert "1, 0 ties among them" in shown


def test_lists_make_domains_and_people():
    sphere = gd.Sphere(3)
    assert gd.Ball(sphere, [1, 0, 0], 0.5).contains(np.eye(3)[0])
    assert gd.SPDInterval([[1, 0], [0, 1]], [[4, 0], [0, 9]]).contains(2 * np.eye(2))
    ann = Person(sphere, [0, 0, 1], rng=0, jnd=1e-3)
    assert ann(sphere.to_manifold([1.0, 0.0, 0.1]), sphere.to_manifold([0.1, 0.0, 1.0])) == 1


def test_one_type_of_error_may_be_caught():
    def lost(x, y):
        raise TimeoutError

    study = gd.create_study(gd.Sphere(3), rng=0)
    study.optimize(lost, 2, catch=TimeoutError)
    assert study.progress().skips == 2


SLIPS = {
    "gd.minimize(f, sphere)": r"wrap it, gd\.from_objective\(f\)",
    "study.optimize(f, 10)": r"wrap it, gd\.from_objective\(f\)",
    "gd.minimize(prefers, sphere)": r"wrap it, gd\.from_preference\(judge\)",
    "gd.minimize(gd.from_preference(lambda a, b: None), sphere)": 'expected "a", "b", "tie"',
    "gd.minimize(oracle, sphere, executor=4)": "executor must have a method map.*workers=",
    "gd.minimize(oracle, sphere, executor=print)": "executor must have a method map",
    "gd.minimize(oracle, sphere, method=gd.RDNGD)": r"must be an instance such as RDNGD\(\)",
    "gd.minimize(oracle, sphere, buget=10)": "no option 'buget', perhaps budget= is meant; it",
    "gd.minimize(oracle, sphere, seed=0)": "no option 'seed', perhaps rng= is meant; it takes",
    "gd.minimize(oracle, sphere, method='rdngd', restarts=3)": "no option 'restarts'; it takes",
    "gd.minimize(oracle, sphere, n_jobs=4)": "no option 'n_jobs', perhaps workers= is meant",
    "gd.create_study(sphere, n_trials=9)": "no option 'n_trials', perhaps budget= is meant",
    "gd.minimize(oracle, sphere, restarts=-1)": "restarts must be an integer >= 0, got -1",
    "gd.minimize(oracle, sphere, callback=3)": "callback must be a function of the progress, got 3",
    "gd.minimize(oracle, sphere, monitor=3)": "monitor must be a function of a point, got 3",
    "gd.minimize(oracle, sphere, log=3)": "log must be a path such as 'run.log', got 3",
    "gd.from_objective(f, maximize='yes')": "maximize must be True or False, got 'yes'",
    "gd.for_people(3)": r"manifold must be a Manifold such as Sphere\(3\), got 3",
    "sphere.random_point(0, batch='3')": r"batch must be a tuple of integers such as \(3,\)",
    "study.optimize(oracle, 3, catch='x')": "catch must be a list of types of exceptions, got 'x'",
    "gd.serve('palette.db')": "study must be a Study, a Board or several, got 'palette.db'",
    "gd.web.Board(study, lambda: 0)": "render must be a function of a point",
    "gd.web.Board(study, lambda a, b: 0)": "render must be a function of a point",
    "gd.serve(3)": "study must be a Study, a Board or several, got 3",
    "gd.serve(study, 3)": "render must be a function of a point, got 3",
    "gd.minimize(oracle, 3)": r"manifold must be a Manifold such as Sphere\(3\)",
    "study.tell(study.ask(), study.ask().a)": "answer must be one of 'a', 'b', 'tie', 'skip'",
    "study.tell(study.ask(), 'c')": "answer must be one of 'a', 'b', 'tie', 'skip'",
    "study.tell(study.ask(), 'left')": "got 'left'; duel.left says which point that is",
    "study.tell(study.ask(), 1)": "got 1; a number may mean either point",
    "study.tell('a', study.ask())": "duel must be a Duel or its id, got 'a'",
    "study.tell((goal, start), 'a')": "duel must be a Duel or its id, got",
    "study.export('answers.csv')": r"'answers.csv' ends in .csv, but an export is JSON lines",
    "gd.minimize(lambda a, b: 'A', sphere)": r"wrapped, gd.from_preference\(judge\)",
    "gd.minimize(lambda a, b: b[0] - a[0], sphere)": r"its sign, int\(np.sign",
    "gd.from_preference(lambda a: True)": "function of two points; .* takes other",
    "gd.minimize(gd.from_preference(lambda a, b: 1), sphere)": "so compare: bool",
    "gd.minimize(gd.from_preference(lambda a, b: 'A is best'), sphere)": "parse= finds it",
    "gd.paired(f)": "a function of a point and a seed; .* other",
    "gd.from_objective(lambda x, y: 0)": "f must be a function of a point; .* other",
    "gd.from_objective(oracle)": "is an oracle already",
    "gd.from_objective(prefers)": "f must be a function of a point",
    "gd.from_objective(waits)": "f must answer at once; .* has to be awaited",
    "gd.from_objective(f, 'maximize')": "vectorized must be True or False, got 'maximize'",
    "gd.minimize(gd.from_objective(lambda x: 1j), sphere)": "returned complex, expected",
    "gd.minimize(oracle, sphere, callback=lambda: 0)": "callback must be a function of",
    "gd.minimize(oracle, sphere, monitor=oracle)": "monitor must be a function of a point; ",
    "gd.minimize(oracle, sphere, maximize=True)": r"perhaps from_objective\(f, maximize=True\)",
    "gd.minimize(oracle, sphere, n_duels=9)": "no option 'n_duels', perhaps budget= is meant",
    "gd.minimize(oracle, sphere, verbose=1)": "no option 'verbose', perhaps progress= is meant",
    "gd.minimize(oracle, sphere, checkpoint='x')": "'checkpoint', perhaps log= is meant",
    "gd.create_study(sphere, name='x')": "no option 'name', perhaps study_name= is meant",
    "gd.minimize(oracle, sphere, method='Duel_Newton')": "; perhaps 'duel-newton' is meant",
    "gd.minimize(oracle, sphere, 2 * goal)": r"; manifold.to_manifold\(x0\) is, if it is near",
    "gd.minimize(oracle, gd.Torus(2), [90, 180])": "its largest angle, in radians, over π",
    "gd.minimize(oracle, sphere, min_radius=5)": "min_radius must be at most 3.142, .* in radians",
    "gd.create_study(sphere, jnd=4.0)": "jnd must be at most 3.142, the injectivity radius",
    "gd.minimize(oracle, gd.SE(3), np.eye(4))": r"or a dictionary \('rotation', 'translation'\)",
    "gd.minimize(oracle, gd.SE(3), {'rotation': goal, 'translation': goal})": "x0.'rotation'. has",
    "gd.minimize(oracle, sphere, domain=lambda x: x['a'])": "a domain raised IndexError",
    "gd.minimize(oracle, sphere, domain=lambda x: x > 0)": "test of a domain must return a bool",
    "gd.minimize(oracle, sphere, executor=ThreadPoolExecutor)": r"as ThreadPoolExecutor\(8\); got",
    "gd.space(sphere)": r"space needs parameters with names, e.g. space\(gain=\(-12, 12\)\)",
    "gd.space(batch=[16, 32, 64])": r"to choose among numbers, Categories\(16, 32, 64\)",
    "gd.Rotations(2).to_angle(np.eye(3))": r"x has shape \(3, 3\), expected \(..., 2, 2\)",
    "study.ask('ann')": "n must be an integer >= 1, got 'ann'",
    "other.enqueue(start, goal)": "learns from its own questions only.*'duel-newton'",
    "gd.load_study('x', 'sqlite:///typo.db')": "there is no database",
    "gd.study_names('sqlite:///typo.db')": "there is no database",
    "gd.delete_study('x', 'sqlite:///typo.db')": "there is no database",
    "gd.copy_study('x', 'sqlite:///typo.db', 'sqlite:///to.db')": "there is no database",
    "gd.load_study('x', 'duels.db')": "got 'duels.db'; perhaps 'sqlite:///duels.db' is meant",
    "gd.import_study('none.jsonl')": "path 'none.jsonl' cannot be read",
    "gd.create_study(sphere, gd.DuelNewton)": r"must be an instance such as DuelNewton\(\)",
}


@pytest.mark.parametrize("code", SLIPS)
def test_a_slip_is_named(code, tmp_path, monkeypatch):
    """No error of Python's own, and no file made for a path that was mistyped."""
    monkeypatch.chdir(tmp_path)
    goal = np.array([0.6, 0.0, 0.8])

    async def prefers(a, b):
        return True

    names = {"gd": gd, "np": np, "sphere": gd.Sphere(3), "goal": goal, "start": np.eye(3)[0]}
    names |= {"f": lambda x: -x[2], "oracle": gd.from_objective(lambda x: -x[2])}

    async def waits(x):
        return 0.0

    names |= {"prefers": prefers, "waits": waits, "ThreadPoolExecutor": ThreadPoolExecutor}
    if re.search(r"study\b", code):
        names["study"] = gd.create_study(gd.Sphere(3), "duel-newton", rng=0)
    if "other." in code:
        names["other"] = gd.create_study(gd.Sphere(3), "duel-csa", rng=0)
    with pytest.raises(errors.GeoduelError, match=SLIPS[code]):
        eval(code, names)
    assert list(tmp_path.iterdir()) == []


TAKEN = {
    "a number of one entry": (
        "gd.minimize(gd.from_objective(lambda x: abs(x)), gd.Torus(1), 0.5, budget=60, rng=0).x[0]",
        0.0,
    ),
    "a list of parts": ("product.pack([[0, 0, 1], [2, 3]])", [0, 0, 1, 2, 3]),
    "a number for a batch": (
        "gd.Sphere(3).random_point(0, 2) - gd.Sphere(3).random_point(0, (2,))",
        0,
    ),
    "parameters in a dictionary": ("gd.space({'learning rate': (0, 1)}).manifold.dim", 1),
    "bounds of SciPy": (
        "gd.minimize(bowl, plane, [2, 2], domain=Bounds([1, 0], 3), budget=200, rng=0).x",
        [1.0, 0.0],
    ),
    "lists, by hand": ("bowl([1, 0], [0, 0])", 1),
    "a judge that calls an async one": (
        "gd.from_preference(lambda a, b: prefers(a, b), shuffle=False)(np.ones(2), np.zeros(2))",
        1,
    ),
    "True of one entry": (
        "gd.from_preference(lambda a, b: np.array([True]), shuffle=False)(np.ones(2), np.ones(2))",
        -1,
    ),
    "a bool told to a study": ("study.tell(study.ask(), True).answer == 'a'", True),
    "False told to a study": ("study.tell(study.ask(), np.False_).answer == 'b'", True),
    "a capital told to a study": ("study.tell(study.ask(), ' B\\n').answer == 'b'", True),
    "a result's keys": ("len(list(result)) == len(result.keys()) == len(dict(result))", True),
}


@pytest.mark.parametrize("habit", TAKEN)
def test_a_habit_is_taken(habit):
    """What can be meant in one way only is taken as it is meant."""
    from scipy.optimize import Bounds

    async def prefers(a, b):
        return bool(a @ a < b @ b)

    plane = gd.Euclidean(2)
    names = {"gd": gd, "np": np, "Bounds": Bounds, "plane": plane, "prefers": prefers}
    names["bowl"] = bowl = gd.from_objective(lambda x: x @ x)
    names["product"] = gd.Product(gd.Sphere(3), plane)
    names["study"] = gd.create_study(gd.Torus(1), rng=0)
    names["result"] = gd.minimize(bowl, plane, budget=5, rng=0)
    code, expected = TAKEN[habit]
    np.testing.assert_allclose(eval(code, names), expected, atol=1e-6)


def test_columns_of_pandas_are_points():
    pandas = pytest.importorskip("pandas")
    x = pandas.Series([0.6, 0.0, 0.8])
    np.testing.assert_array_equal(gd.Sphere(3).pack(x), x)
    frame = pandas.DataFrame(np.eye(3))
    assert gd.Rotations(3).dist(frame, np.eye(3)) == 0


def test_arrays_of_two_kinds_are_named():
    torch = pytest.importorskip("torch")
    poses = gd.SE(2)
    parts = {"rotation": torch.eye(2), "translation": np.zeros(2)}
    for call in (lambda: gd.Rotations(2).dist(np.eye(2), torch.eye(2)), lambda: poses.pack(parts)):
        with pytest.raises(errors.ArgumentError, match=r"one kind, got some of (numpy|torch) and"):
            call()


def test_a_judge_of_1_and_0_is_told_what_0_means():
    with pytest.warns(errors.TiesWarning, match=r"an oracle's 0 is a tie, so wrap .*bool\(judge"):
        gd.minimize(lambda a, b: int(a[0] < b[0]), gd.Sphere(3), budget=60, rng=0)


@pytest.mark.parametrize(
    ("f", "manifold", "note"),
    [
        (lambda p: p[:3, 3], gd.SE(3), "its points are dictionaries with 'rotation', 'trans"),
        (lambda x: x.norm(), gd.Sphere(3), "its points are NumPy arrays"),
    ],
)
def test_what_points_are_is_noted(f, manifold, note):
    with pytest.raises(errors.OracleError) as caught:
        gd.minimize(gd.from_objective(f), manifold, budget=9, rng=0)
    assert any(note in said for said in caught.value.__notes__)


def test_a_log_of_another_seed_says_so(tmp_path):
    oracle = gd.from_objective(lambda x: -x[0])
    gd.minimize(oracle, gd.Sphere(3), budget=9, rng=0, log=tmp_path / "log")
    with pytest.raises(errors.ArgumentError, match="another run: rng was 0, now it is 1"):
        gd.minimize(oracle, gd.Sphere(3), budget=9, rng=1, log=tmp_path / "log")
    with pytest.raises(errors.ArgumentError, match="another run: x0 was another point"):
        gd.minimize(oracle, gd.Sphere(3), [1, 0, 0], budget=9, rng=0, log=tmp_path / "log")


def test_names_of_other_packages_lead_on():
    for name, meant in {"maximize": "minimize", "SO3": "Rotations", "SE3": "SE"}.items():
        with pytest.raises(AttributeError, match=rf"perhaps geoduel\.{meant}\b.* is meant"):
            getattr(gd, name)
    with pytest.raises(AttributeError, match=r"'nothing'$"):
        getattr(gd, "nothing")  # noqa: B009


def test_a_manifold_of_ones_own_is_looked_over():
    """Methods that forget the leading axes fail before a run, by their name."""

    class Flat(gd.Manifold):
        dim, point_shape = 2, (2,)  # type: ignore[assignment]

        def inner(self, x, u, v):
            return np.sum(u * v)

        def exp(self, x, v):
            return x + v

        def log(self, x, y):
            return y - x

        def to_tangent(self, x, a):
            return a

        def to_manifold(self, a):
            return a

    oracle = gd.from_objective(lambda x: x @ x)
    with pytest.raises(errors.ArgumentError, match=r"inner of Flat gave .* shape \(\) for two"):
        gd.minimize(oracle, Flat(), budget=9)
    Flat.point_shape = 2
    with pytest.raises(errors.ArgumentError, match="point_shape of Flat must be a tuple"):
        gd.minimize(oracle, Flat(), budget=9)


def test_a_study_that_is_not_there_names_those_that_are(tmp_path):
    place = f"sqlite:///{tmp_path / 'a.db'}"
    gd.create_study(gd.Torus(1), storage=place, study_name="tilt")
    with pytest.raises(errors.UnknownStudyError, match="'titl' in the storage, which has 'tilt'"):
        gd.load_study("titl", place)


def test_help_shows_the_settings():
    """``x_tol`` and its like are found by help and by Tab, which read the annotations."""
    assert "x_tol" in str(gd.minimize.__doc__)
    assert "x_tol" in Settings.__annotations__
