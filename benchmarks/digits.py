"""Accuracy of the geometry, against values of 60 digits.

    python benchmarks/digits.py [--full] [--save] [--only "Sphere(3)" ...]

exp, log and dist of random points and directions, of lengths from 1e-9 (single precision: 1e-4) to
nearly as far as geodesics are shortest, in double and single precision. A row has the worst errors
of `samples.exact.errors`, in rounding units of the dtype: of the end of exp, of where log leads by
the exact exp, and of the distance. On Stiefel manifolds there is no formula for it. Points far out,
at the rim and of large condition, those of `samples.points.corner`, have rows of their own. Needs
mpmath, which comes with torch.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import sys
from collections.abc import Callable
from pathlib import Path

from _results import Results
from _results import parser as results_parser
from _timing import describe_machine

import numpy as np

import geoduel as gd

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from samples import exact
from samples.points import corner, usual

SEEDS = 300, 40, 4  # the first, and how many: in full, and quick


CASES: list[tuple[gd.Manifold, str, Callable[..., np.ndarray]]] = [
    (gd.Euclidean(3), "", usual),
    (gd.Sphere(2), "", usual),
    (gd.Sphere(3), "", usual),
    (gd.ComplexSphere(3), "", usual),
    (gd.Oblique(3, 2), "", usual),
    (gd.Torus(3), "", usual),
    (gd.Rotations(2), "", usual),
    (gd.Rotations(3), "", usual),
    (gd.Rotations(4), "", usual),
    (gd.Unitary(2), "", usual),
    (gd.SE(3), "", usual),
    (gd.Stiefel(4, 2), "", usual),
    (gd.Stiefel(4, 2, metric="canonical"), "", usual),
    (gd.Grassmann(4, 2), "", usual),
    (gd.Hyperbolic(3), "", usual),
    (gd.Hyperbolic(3), "far out", corner),
    (gd.Simplex(3), "", usual),
    (gd.Simplex(3), "at the rim", corner),
    (gd.Correlation(3), "", usual),
    (gd.Correlation(3), "far out", corner),
    (gd.SPD(3), "", usual),
    (gd.SPD(3), "large condition", corner),
    (gd.SPD(3, metric="log-euclidean"), "", usual),
    (gd.SPD(3, metric="log-euclidean"), "large condition", corner),
    (gd.SPD(3, metric="bures-wasserstein"), "", usual),
    (gd.Product(gd.Sphere(3), gd.SPD(2), weights=(1.0, 2.0)), "", usual),
]


def errors(
    m: gd.Manifold, draw: Callable[..., np.ndarray], dtype: type, seed: int
) -> dict[str, float]:
    """Errors in rounding units, of one point, direction and length."""
    rng = np.random.default_rng(seed)
    x = draw(m, rng, (), dtype)
    u = m.unit_tangent(rng, x)
    reach = 0.9 * min(float(m.extent(x, u)), 2 * m.typical_dist)
    least = -9.0 if dtype == np.float64 else -4.0
    return exact.errors(m, x, (reach * 10.0 ** (least * rng.random()) * u).astype(dtype))


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--only", nargs="+", default=[], help="these manifolds")
    options = parser.parse_args()
    first, full, quick = SEEDS
    seeds = range(first, first + (full if options.full else quick))
    results = Results(__file__, options.save, seeds=[seeds[0], seeds[-1]])
    print(describe_machine())
    for m, where, draw in CASES:
        if options.only and str(m) not in options.only:
            continue
        row: dict[str, dict[str, float]] = {}
        for dtype in (np.float64, np.float32):
            all_of_them = [errors(m, draw, dtype, seed) for seed in seeds]
            row[dtype.__name__] = {
                name: max(one[name] for one in all_of_them) for name in all_of_them[0]
            }
        results.add(f"{m}, {where}".rstrip(", "), **row)
        print(f"{m}, {where}", {k: {op: f"{e:.3g}" for op, e in v.items()} for k, v in row.items()})


if __name__ == "__main__":
    main()
