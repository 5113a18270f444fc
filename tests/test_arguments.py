"""Whatever is wrong with an argument, an error of the package names it.

Each public callable is called as it should be, and then with one argument after the other replaced
by what fits nowhere. That is taken, or refused in words that name the argument. It never ends in an
error from inside of Python or of another package.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import io
import math
import re
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

import geoduel as gd
from geoduel import errors
from geoduel.methods import rivals
from geoduel.oracles import people
from geoduel.study.storage import SQLStorage

WRONG = (3, "x", None, [], object(), -1, math.nan, math.inf, True)
FEW = (object(), "x", math.nan, True)  # what the usual run tries; the slow one tries all

CALLS = {
    "manifolds": """
        gd.Euclidean(2)
        gd.Sphere(3)
        gd.SPD(2)
        gd.Rotations(3)
        gd.Stiefel(4, 2)
        gd.Grassmann(4, 2)
        gd.Hyperbolic(2)
        gd.Simplex(3)
        gd.Torus(2)
        gd.Correlation(3)
        gd.Oblique(3, 2)
        gd.Unitary(2)
        gd.ComplexSphere(2)
        gd.SE(3)
        gd.Power(sphere, 2)
        gd.Product(sphere, gd.Euclidean(2), weights=(1.0, 2.0), names=("a", "b"))
        gd.Categories("red", "green")
        gd.Integers(0, 5)
        sphere.dist(x, y)
        sphere.inner(x, v, v)
        sphere.norm(x, v)
        sphere.exp(x, v)
        sphere.log(x, y)
        sphere.transport(x, y, v)
        sphere.to_coords(x, v)
        sphere.from_coords(x, c)
        sphere.to_tangent(x, y)
        sphere.to_manifold(y)
        sphere.unit_tangent(0, x)
        sphere.random_point(0)
        sphere.check_point(x)
        sphere.check_tangent(x, v)
        product.split(p)
        product.join(x, np.zeros(2))
        product.check_point(p)
        spd.dist(s, s)
        spd.check_point(s)
        gd.SPD(2).random_point(0, (2,), like=None)
        gd.Rotations(2).from_angle(0.1)
        hyperbolic.to_poincare(h)
        hyperbolic.from_poincare(np.zeros(2))
    """,
    "adapters": """
        gd.from_pymanopt(pymanopt.manifolds.Sphere(3))
        gd.to_pymanopt(sphere)
    """,
    "domains": """
        gd.space(gain=(-12, 12), mix=gd.Simplex(3))
        gd.Ball(sphere, x, 0.5)
        gd.Box([0.0, 0.0], [1.0, 1.0])
        gd.Interval(0.5, 1.0)
        gd.L1Ball(2, 1.0)
        gd.L2Ball(2, 1.0)
        gd.ProbabilitySimplex(3)
        gd.SPDInterval(np.eye(2), 2 * np.eye(2))
        gd.Where(sphere, lambda x: True, x)
        gd.Intersection(ball, ball)
        gd.Catalogue(sphere, np.eye(3))
        ball.contains(x)
        ball.project(x)
        ball.linear_minimizer(x, v)
        ball.violation(x)
        catalogue.index(x)
        catalogue.nearest(x)
    """,
    "oracles": """
        gd.from_objective(f)
        gd.from_preference(lambda a, b: True)
        gd.from_ranking(lambda points: [0, 1])
        gd.paired(simulate)
        gd.Counted(oracle, 9)
        gd.Noisy(oracle, flip=0.1, rng=0)
        gd.Repeated(oracle, 0.9)
        gd.Recorded(oracle)
        gd.Reversed(oracle)
        gd.Retried(oracle)
        gd.Shuffled(oracle, 0)
        gd.Logged(oracle, path, {})
        people.Person(sphere, x)
        people.draw_person(sphere, x, 0)
        people.draw_crowd(sphere, x, 0, 2)
    """,
    "methods": """
        gd.Auto()
        gd.Bisection()
        gd.Block()
        gd.DuelCSA()
        gd.DuelNewton()
        gd.IdealDirection()
        gd.IdealPoint()
        gd.Mixed(gd.DuelNewton())
        gd.RDFW(ball)
        gd.RDNGD()
        gd.RRDNGD()
        gd.for_people(sphere)
        gd.constant(0.1)
        gd.cosine(0.1, 0.01)
        gd.geometric(0.1, 0.5)
        rivals.SCOBO()
        rivals.STP()
        rivals.ComparisonNGD()
        rivals.MinibatchDuels(lambda x, rows: rows, 9, 3)
        rivals.OrderCD()
        rivals.OrderACD()
        rivals.RankSGD()
    """,
    "studies": """
        gd.create_study(sphere, "duel-newton", rng=0, storage=None)
        gd.load_study("kept", storage)
        gd.copy_study("kept", storage, gd.study.MemoryStorage(), "other")
        gd.delete_study("copied", storage)
        gd.import_study(exported)
        gd.study_names(storage)
        gd.study.study_summary("kept", storage)
        gd.Study("kept", storage)
        study.ask()
        study.duel(0)
        study.tell(study.ask(), "a")
        study.undo()
        study.recommend()
        study.rank(3, among=turns)
        study.progress()
        study.uncertainty()
        study.ideals()
        other.enqueue(x, y)
        other.report_preference(x, y)
        study.set_user_attr("key", 3)
        study.export(exported)
        kept.backup(nowhere)
        study.trace()
        study.disagreement()
        newton.optimize(oracle, 1)
        SQLStorage(database)
    """,
    "pages": """
        gd.serve(study, None, question="Which?", title="Duel")
        gd.web.Board(study, None)
        gd.web.create_app(board)
        gd.web.dashboard(database)
    """,
    "plots": """
        gd.plotting.convergence(result)
        gd.plotting.consistency(result)
        gd.plotting.duels(newton)
        gd.plotting.path(result, sphere)
        gd.plotting.region(study)
    """,
    "problems": """
        geoduel.problems.Karcher(np.stack([np.eye(2)] * 3))
        geoduel.problems.Leveling(0.1)
        geoduel.problems.Rayleigh(np.eye(3), x)
        geoduel.problems.Rosenbrock(np.zeros(2))
        geoduel.problems.Quadratic(np.eye(2), np.zeros(2), np.ones(2))
        geoduel.problems.Rayleigh.random(3)
        geoduel.problems.Karcher.random(2, 3)
        geoduel.baselines.rgd(problem, iterations=2)
        geoduel.baselines.zo_rgd(problem, iterations=2)
        geoduel.baselines.frank_wolfe(karcher, iterations=2, domain=karcher.domain())
        geoduel.baselines.karcher_mean(np.stack([np.eye(2)] * 3))
        gd.theory.convex(d=3, L=1.0, D=1.0, eps=0.1, kappa=0.0, diameter=1.0)
        gd.theory.nonconvex(d=3, L=1.0, D=1.0, eps=0.1)
        gd.theory.strongly_convex(d=3, L=1.0, alpha=0.5, D=1.0, eps=0.1, kappa=0.0, diameter=1.0)
        gd.theory.frank_wolfe(d=3, L=1.0, eps=0.1, diameter=1.0, D=1.0)
        gd.theory.direction_constant(3)
        gd.theory.flip_bound(d=3, L=1.0, radius=0.1, gradient_norm=1.0)
        gd.theory.flip_coefficient(3)
        gd.theory.resolvable_radius(1.0, 1.0)
        gd.theory.zeta_bar(-1.0, 1.0)
        geoduel.bench.plan(quick=True)
        geoduel.bench.load(nowhere)
    """,
    "pictures": """
        geoduel.pictures.seascape(0, size=(40, 30))
        geoduel.pictures.largest_rectangle(40, 30, 0.1)
        geoduel.pictures.open_photo(photo)
        geoduel.pictures.picture_format(photo)
        geoduel.pictures.save_photo(image, elsewhere, overwrite=True)
        geoduel.pictures.turn(image, 0.1)
        geoduel.pictures.shrink(image, 20)
        geoduel.level.Leveller(photo)
        geoduel.level.level([photo], browser=False)
    """,
    "attack": """
        geoduel.attack.attack(model, images, labels, eps=0.1, budget=20)
        geoduel.attack.Judge(model, labels)
        geoduel.attack.Remote(lambda a, b, c: a)
        geoduel.attack.digits()
        geoduel.attack.image_folder(folder)
        geoduel.attack.load_pictures("digits")
        geoduel.attack.small_cnn()
        geoduel.attack.prior("low-frequency", images)
        geoduel.attack.save_weights(network, elsewhere)
        geoduel.attack.Climb()
        geoduel.attack.Evolution()
        geoduel.attack.Learning()
        geoduel.attack.Tracker()
        geoduel.attack.Averaging()
        geoduel.attack.ZORGD()
    """,
    "runs": """
        gd.minimize(oracle, sphere, x, iterations=1, rng=0)
    """,
}
NEEDS = {
    "adapters": ("pymanopt",),
    "pages": ("fastapi", "uvicorn", "jinja2", "PIL"),
    "plots": ("matplotlib",),
    "pictures": ("PIL", "fastapi", "uvicorn"),
    "attack": ("torch", "safetensors", "sklearn", "PIL"),
}
SLOW = ("adapters", "plots", "pages", "pictures", "attack")  # in all, a minute

ANYTHING = {"check_point.name", "check_tangent.name"}  # is only shown
LATER = re.compile(r"\.domain$")  # of a method: refused when a run begins, as tests of those say
OTHER_WORDS = {
    "image_folder.folder": "data x: no images",
    "open_photo.max_pixels": "megapixels, expected at most",
    "open_photo.max_bytes": "MB, expected at most",
    "save_photo.overwrite": "elsewhere.png exists",
    "load_pictures.where": "data x: neither a folder",
    "prior.name": "directions must be one of",
    "SQLStorage.url": "storage must be",
}


class World:
    """What the calls are about, made anew for each group."""

    def __init__(self, folder: Any) -> None:
        x, y = np.eye(3)[:2]
        self.x, self.y, self.v, self.c = x, y, 0.1 * y, np.array([0.1, 0.2])
        self.sphere, self.spd, self.s = gd.Sphere(3), gd.SPD(2), np.eye(2)
        self.product, self.p = gd.Product(self.sphere, gd.Euclidean(2)), np.eye(5)[0]
        self.hyperbolic, self.h = gd.Hyperbolic(2), gd.Hyperbolic(2).origin()
        self.ball = gd.Ball(self.sphere, x, 0.5)
        self.catalogue = gd.Catalogue(self.sphere, np.eye(3))
        self.turns = np.stack([np.eye(2), -np.eye(2)])
        self.f = lambda x: -x[2]
        self.simulate = lambda x, seed: -x[2]
        self.oracle = gd.from_objective(self.f)
        self.path, self.nowhere = folder / "kept.log", folder / "nowhere"
        self.photo, self.elsewhere = folder / "photo.png", folder / "elsewhere.png"
        self.exported, self.folder = folder / "study.jsonl", folder
        self.database = f"sqlite:///{folder}/duels.db"
        self.study = gd.create_study(gd.Rotations(2), study_name="kept", rng=0)
        self.storage = self.study.storage
        self.kept = gd.create_study(gd.Rotations(2), storage=self.database, rng=0)
        self.newton = gd.create_study(self.sphere, "duel-newton", rng=0)
        self.other = gd.create_study(self.sphere, "ideal-point", rng=0)
        for study in (self.study, self.newton):
            for _ in range(3):
                study.tell(study.ask(), "a")
        self.study.export(self.exported)

    def of(self, group: str) -> dict[str, Any]:
        """All names of a group of calls."""
        if group == "plots":
            noisy = gd.Noisy(self.oracle, flip=0.1, rng=0)
            self.result = gd.minimize(noisy, self.sphere, self.x, budget=60, rng=0)
        if group == "pages":
            self.board = gd.web.Board(self.study)
        if group == "problems":
            from geoduel import problems

            self.problem = problems.Rayleigh(np.diag([1.0, 2.0, 3.0]), self.x)
            self.karcher = problems.Karcher.random(2, 3, rng=0)
        if group == "pictures":
            from geoduel import pictures

            self.image = pictures.seascape(0, size=(40, 30))
            self.image.save(self.photo)
        if group == "attack":
            import torch

            from geoduel import attack

            self.network = self.model = attack.small_cnn().eval()
            self.images = torch.rand(2, 1, 8, 8, generator=torch.Generator().manual_seed(0))
            self.labels = self.model(self.images).argmax(1)
        for module in set(re.findall(r"\bgeoduel\.(\w+)", CALLS[group])):
            importlib.import_module(f"geoduel.{module}")
        names = {"np": np, "gd": gd, "geoduel": gd, "people": people, "rivals": rivals}
        if "pymanopt" in CALLS[group]:
            names["pymanopt"] = importlib.import_module("pymanopt")
        return names | {"SQLStorage": SQLStorage} | vars(self)


def parameters(call: ast.Call, names: dict[str, Any]) -> tuple[Any, dict[str, inspect.Parameter]]:
    """A call's function, and what may be given to it, extra settings that the call gives included.

    Of a call with several settings of a long list, those alone.
    """
    function = eval(ast.unparse(call.func), names)
    found = dict(inspect.signature(function).parameters)
    given = [keyword.arg for keyword in call.keywords if keyword.arg]
    rest = next((p for p in found.values() if p.kind is p.VAR_KEYWORD), None)
    found = {name: p for name, p in found.items() if p.kind is not p.VAR_KEYWORD}
    if rest is not None:
        found |= {name: rest for name in given if name not in found}
    return function, found


def arguments(
    call: ast.Call, names: dict[str, Any], function: Any, name: str, wrong: Any
) -> tuple[list[Any], dict[str, Any]]:
    """What the call gives, with one argument replaced."""
    args = [eval(ast.unparse(value), names) for value in call.args]
    kwargs = {k.arg: eval(ast.unparse(k.value), names) for k in call.keywords if k.arg}
    bound = inspect.signature(function).bind(*args, **kwargs)
    parameter = bound.signature.parameters.get(name)
    if parameter is None:
        return args, kwargs | {name: wrong}
    if parameter.kind is parameter.VAR_POSITIONAL:
        wrong = (wrong, *bound.arguments.get(name, ())[1:])
    bound.arguments[name] = wrong
    return list(bound.args), bound.kwargs


def complaint(where: str, parameter: inspect.Parameter, wrong: Any, call: Any) -> str | None:
    """What is wrong with what a call says of a wrong argument."""
    name = where.rpartition(".")[2]
    shown = f"{where}={'object()' if type(wrong) is object else repr(wrong)}"
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            call()
    except (errors.GeoduelError, OSError) as error:
        said = str(error)
        if wrong == "x" and isinstance(error, errors.PictureError | OSError):  # of that file, host
            return None if re.search(r"\bx\b", said) else f"{shown}: {error!r}"
        if re.search(rf"(?<![a-z]){name}(?![a-z])", said) or OTHER_WORDS.get(where, "?") in said:
            return None
        return f"{shown} is not named: {said}"
    except Exception as error:
        return f"{shown}: {error!r}"
    kinds = str(parameter.annotation)
    fits = re.search(r"\b(Any|object)\b", kinds) or where in ANYTHING or LATER.search(where)
    truth = re.search(r"\bbool\b", kinds)  # where a text would count as True
    lies = type(wrong) is object or (wrong is True and not truth) or (wrong == "x" and truth)
    return f"{shown} is taken for {kinds}" if lies and not fits else None


def complaints(group: str, folder: Any, values: tuple[Any, ...]) -> list[str]:
    names, found = World(folder).of(group), []
    for line in CALLS[group].split("\n"):
        if not (line := line.strip()):
            continue
        call = ast.parse(line, mode="eval").body
        assert isinstance(call, ast.Call)
        function, given = parameters(call, names)
        owner = ast.unparse(call.func).rpartition(".")[2]
        for name, parameter in given.items():
            for wrong in values:
                args, kwargs = arguments(call, names, function, name, wrong)
                called = partial(function, *args, **kwargs)
                said = complaint(f"{owner}.{name}", parameter, wrong, called)
                found += [said] if said else []
    return found


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def test_what_fits_nowhere_is_named(folder):
    """One test for all groups, so that pytest's own work for each does not add up."""
    found = []
    for group in CALLS:
        if group not in SLOW:
            found += complaints(group, folder, FEW)
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("group", CALLS)
def test_all_that_fits_nowhere_is_named(group, folder, monkeypatch):
    for package in NEEDS.get(group, ()):
        pytest.importorskip(package)
    if group in ("pages", "pictures"):
        import uvicorn

        monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets=None: None)
        monkeypatch.setattr("webbrowser.open", lambda address: True)
    found = complaints(group, folder, WRONG)
    assert not found, "\n".join(found)
