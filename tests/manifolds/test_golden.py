"""Every manifold against reference values of 60 digits, on NumPy, torch and the plain Array API.

The files and their formulas are described in ``../shared/golden/README.md``. A result passes if its
largest difference from the value is at most ``tol``, what a good float64 implementation reaches.
Where there is no single answer, a typed error, NaN in a batch, or one of the answers is right.
"""

from __future__ import annotations

import numpy as np
import pytest

from geoduel.errors import CutLocusError
from geoduel.manifolds.euclidean import Euclidean
from geoduel.manifolds.grassmann import Grassmann
from geoduel.manifolds.hyperbolic import Hyperbolic
from geoduel.manifolds.product import Product
from geoduel.manifolds.rotations import Rotations
from geoduel.manifolds.spd import SPD
from geoduel.manifolds.sphere import Sphere
from geoduel.manifolds.stiefel import Stiefel


class PoincareBall:
    """Hyperbolic space in the other model, through the conversions."""

    def __init__(self, n):
        self.space = Hyperbolic(n)

    def __getattr__(self, method):
        s = self.space

        def call(p, *others):
            x = s.from_poincare(p)
            if method in ("dist", "log", "transport"):  # the first of the others is a point
                second, *vectors = s.from_poincare(others[0]), *others[1:]
            else:
                second, vectors = None, others
            vectors = [s.from_poincare_tangent(p, v) for v in vectors]
            given = [x, *([] if second is None else [second]), *vectors]
            result = getattr(s, method)(*given)
            if method == "exp":
                return s.to_poincare(result)
            if method in ("log", "transport"):
                return s.to_poincare_tangent(x if method == "log" else second, result)
            return result

        return call


MANIFOLDS = {
    "euclidean": lambda x: Euclidean(*x.shape),
    "sphere": lambda x: Sphere(*x.shape),
    "spd": lambda x: SPD(x.shape[0]),
    "so": lambda x: Rotations(x.shape[0]),
    "stiefel_euclidean": lambda x: Stiefel(*x.shape, metric="euclidean"),
    "stiefel_canonical": lambda x: Stiefel(*x.shape, metric="canonical"),
    "grassmann": lambda x: Grassmann(*x.shape),
    "hyperbolic_lorentz": lambda x: Hyperbolic(x.size - 1),
    "hyperbolic_poincare": lambda x: PoincareBall(x.size),
}
FACTORS = {
    "sphere": Sphere,
    "spd": SPD,
    "so": Rotations,
    "euclidean": Euclidean,
    "hyperbolic": Hyperbolic,
}
STANDARD = ["euclidean", "sphere", "so", "hyperbolic_lorentz", "hyperbolic_poincare"]


def read(golden, file):
    """Cases of a file: name, manifold, operation, inputs by name, value, tolerance."""
    for case in golden(file)["cases"]:
        if file == "product":
            manifold = Product(*(FACTORS[kind](n) for kind, n in case["factors"]))
            join = manifold.join
        else:
            manifold, join = MANIFOLDS[file](np.array(case["inputs"]["x"])), None

        def array(a, join=join):
            return join(*map(np.array, a)) if join and isinstance(a, list) else np.array(a)

        inputs = {name: array(a) for name, a in case["inputs"].items()}
        for operation, expected in case["expected"].items():
            value = expected["value"]
            value = None if value is None else array(value)
            yield (
                f"{case['id']} {operation}",
                manifold,
                operation,
                inputs,
                value,
                expected.get("tol"),
            )


def compute(m, operation, x, y=None, v=None, w=None):
    """The result of an operation of the files, whose names spell the arguments."""
    match operation:
        case "exp_x_v":
            return m.exp(x, v)
        case "exp_projector":
            z = m.exp(x, v)
            return z @ z.mT
        case "log_x_y":
            return m.log(x, y)
        case "dist_x_y":
            return m.dist(x, y)
        case "inner_x_v_w":
            return m.inner(x, v, w)
        case "norm_x_v":
            return m.norm(x, v)
        case "transport_x_y_w":
            return m.transport(x, y, w)
        case "transport_along_v_w":
            return m.transport_along(x, v, w)
        case "to_poincare_x":
            return m.to_poincare(x)
        case "pushforward_to_poincare_v":
            return m.to_poincare_tangent(x, v)
    raise AssertionError(f"unknown operation {operation}")


def compare(golden, file, convert, back=np.asarray):
    """Differences beyond the tolerance, all of them, in words."""
    count, wrong = 0, []
    for name, m, operation, inputs, value, tol in read(golden, file):
        given = {key: convert(a) for key, a in inputs.items()}
        try:
            result = back(compute(m, operation, **given))
        except CutLocusError:
            if value is not None:
                wrong.append(f"{name}: CutLocusError")
            continue
        count += 1
        if value is not None:
            error = float(np.max(np.abs(result - value)))
            if not error <= tol:
                wrong.append(f"{name}: off by {error:.2g}, tolerance {tol:.2g}")
        elif not np.isnan(result).any():  # one of several answers
            assert operation == "log_x_y", name
            v, x, y = convert(result), given["x"], given["y"]
            np.testing.assert_allclose(back(m.norm(x, v)), back(m.dist(x, y)), rtol=1e-12)
            np.testing.assert_allclose(back(m.dist(m.exp(x, v), y)), 0, atol=1e-12)
    assert count > 0
    assert not wrong, f"{len(wrong)} of {count} values\n" + "\n".join(wrong)


files = pytest.mark.parametrize("file", [*MANIFOLDS, "product"])


@files
def test_numpy(golden, file):
    compare(golden, file, np.asarray)


@files
def test_numpy_batches(golden, file):
    """Each case three times, as a batch."""
    compare(golden, file, lambda a: np.stack([a, a, a]))


@files
def test_torch(golden, file):
    torch = pytest.importorskip("torch")
    compare(golden, file, torch.asarray, lambda a: np.asarray(a))


@files
def test_torch_batches(golden, file):
    torch = pytest.importorskip("torch")
    compare(golden, file, lambda a: torch.asarray(np.stack([a, a])), lambda a: np.asarray(a))


@pytest.mark.parametrize("file", STANDARD)
def test_array_api_strict(golden, file):
    """What the Array API standard covers needs nothing else."""
    strict = pytest.importorskip("array_api_strict")
    compare(golden, file, strict.asarray, lambda a: np.asarray(a))
