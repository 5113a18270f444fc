"""Speed and accuracy of the geometry, beside pymanopt, geomstats and geoopt.

    python benchmarks/geometry.py [--full] [--save] [--only "Sphere(10)" "SPD(3)" ...] [--apart 0.1]

Microseconds a call of exp, log, dist, transport and unit_tangent, for one point and for batches of
100 and 10,000; one thread; all packages in one run, taking turns. A package is missing where it has
no such function, or none for batches (then one would loop), and at 10,000 where it takes 50 times
as long at 100. pymanopt's SPD and rotation transport is no
parallel transport but the identity, and is left out, as is its projection on the sphere.

"bare" is what a cell comes to without checks, and without care for digits and for points staying on
the manifold: the formula in plain NumPy, or in BLAS for one point of a sphere, and of a unit
tangent the Gaussian numbers alone. Cells where a peer takes less than three times as long as we do
are listed beside it.

The last table is the largest error against the reference values in ../shared/golden, where present,
in multiples of their tolerance.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import json
import warnings
from collections.abc import Callable
from math import cos, inf, sin, sqrt
from pathlib import Path

from _results import Results
from _results import parser as results_parser
from _timing import describe_machine, least_times

import numpy as np

import geoduel as gd

OPERATIONS = ("exp", "log", "dist", "transport", "unit_tangent")
GOLDEN = Path(__file__).resolve().parents[2] / "shared" / "golden"


def ours(
    manifold: gd.Manifold, batch: tuple[int, ...], apart: float
) -> dict[str, Callable[[], object]]:
    """Our five operations at random points x and points y, ``apart`` from them, or random for 0."""
    rng = np.random.default_rng(0)
    x = manifold.random_point(rng, batch)
    v = (apart or 0.7) * manifold.unit_tangent(rng, x)
    w = manifold.unit_tangent(rng, x)
    y = manifold.exp(x, v) if apart else manifold.random_point(rng, batch)
    return {
        "exp": lambda: manifold.exp(x, v),
        "log": lambda: manifold.log(x, y),
        "dist": lambda: manifold.dist(x, y),
        "transport": lambda: manifold.transport(x, y, w),
        "unit_tangent": lambda: manifold.unit_tangent(rng, x),
        "data": (x, v, w, y),  # type: ignore[dict-item]
    }


def pymanopt(name: str, sizes: tuple[int, ...], k: int, data: tuple) -> dict | None:
    import pymanopt.manifolds as m

    x, v, _, y = data
    if k > 1 and name in ("Sphere", "Hyperbolic"):
        return None  # columns of Oblique and PoincareBall(k=) have other layouts; see geoopt
    make = {
        "Sphere": lambda: m.Sphere(*sizes),
        "SPD": lambda: m.SymmetricPositiveDefinite(*sizes, k=k),
        "Rotations": lambda: m.SpecialOrthogonalGroup(*sizes, k=k),
        "Stiefel": lambda: m.Stiefel(*sizes, k=k),
        "Grassmann": lambda: m.Grassmann(*sizes, k=k),
    }.get(name)
    if make is None:
        return None
    manifold = make()
    if name == "Rotations":  # tangents are Lie algebra elements there
        v = np.swapaxes(x, -1, -2) @ v

    def unit_tangent():
        u = manifold.random_tangent_vector(x)
        return u / manifold.norm(x, u)

    return {
        "exp": lambda: manifold.exp(x, v),
        "log": lambda: manifold.log(x, y),
        "dist": lambda: manifold.dist(x, y),
        "unit_tangent": unit_tangent,
    }


def geomstats(name: str, sizes: tuple[int, ...], k: int, data: tuple) -> dict | None:
    import os

    os.environ.setdefault("GEOMSTATS_BACKEND", "numpy")
    x, v, w, y = data
    if name == "Sphere":
        from geomstats.geometry.hypersphere import Hypersphere

        space = Hypersphere(sizes[0] - 1)
    elif name == "SPD":
        from geomstats.geometry.spd_matrices import SPDAffineMetric, SPDMatrices

        space = SPDMatrices(sizes[0], equip=False)
        space.equip_with_metric(SPDAffineMetric)
    elif name == "Rotations":
        from geomstats.geometry.special_orthogonal import SpecialOrthogonal

        space = SpecialOrthogonal(sizes[0], point_type="matrix")
    elif name == "Hyperbolic":
        from geomstats.geometry.hyperboloid import Hyperboloid

        space = Hyperboloid(sizes[0])
    elif name == "Stiefel":
        from geomstats.geometry.stiefel import Stiefel

        space = Stiefel(*sizes)
    else:
        return None
    metric = space.metric

    def unit_tangent():
        u = space.random_tangent_vec(x) if k == 1 else space.random_tangent_vec(x, n_samples=k)
        return metric.normalize(u, x)

    operations = {
        "exp": lambda: metric.exp(v, x),
        "log": lambda: metric.log(y, x),
        "dist": lambda: metric.dist(x, y),
        "transport": lambda: metric.parallel_transport(w, x, end_point=y),
        "unit_tangent": unit_tangent,
    }
    if name == "Stiefel":  # canonical metric only; log by an iteration, transport by a ladder
        del operations["transport"], operations["log"], operations["dist"]
    return operations


def geoopt(name: str, sizes: tuple[int, ...], k: int, data: tuple) -> dict | None:
    import geoopt.manifolds as m
    import torch

    torch.set_num_threads(1)
    x, v, w, y = (torch.asarray(np.array(a)) for a in data)
    if name == "Sphere":
        manifold = m.Sphere()
    elif name == "SPD":
        manifold = m.SymmetricPositiveDefinite()
    elif name == "Hyperbolic":
        manifold = m.Lorentz()
    elif name == "Stiefel":
        manifold = m.EuclideanStiefelExact()
    else:
        return None
    operations = {
        "exp": lambda: manifold.expmap(x, v),
        "log": lambda: manifold.logmap(x, y),
        "dist": lambda: manifold.dist(x, y),
        "transport": lambda: manifold.transp(x, y, w),
    }
    if name == "Sphere":
        del operations["transport"]  # a projection
    if name == "Stiefel":
        operations = {"exp": operations["exp"]}
    return operations


def bare(name: str, manifold: gd.Manifold, k: int, data: tuple) -> dict:
    """Bare formulas, right for points and tangent vectors that are neither zero nor very far."""
    x, v, _, y = data
    rng = np.random.default_rng(0)
    formulas: dict[str, Callable[[], object]] = {
        "unit_tangent": lambda: rng.standard_normal((k, manifold.dim))
    }
    if name not in ("Sphere", "Hyperbolic"):
        return formulas
    if k == 1:
        if name == "Sphere":
            from scipy.linalg import get_blas_funcs

            dot, rot = get_blas_funcs(("dot", "rot"), dtype=float)

            def one_exp() -> np.ndarray:
                angle = sqrt(dot(v, v))
                return rot(x, v, cos(angle), sin(angle) / angle)[0]

            formulas["exp"] = one_exp
        return formulas
    if name == "Sphere":
        even, odd, arc, inner = np.cos, np.sin, np.acos, np.vecdot
    else:
        even, odd, arc = np.cosh, np.sinh, np.acosh

        def inner(u: np.ndarray, w: np.ndarray) -> np.ndarray:
            return np.vecdot(u, w) - 2 * u[..., 0] * w[..., 0]

    side = 1 if name == "Sphere" else -1

    def exp() -> np.ndarray:
        angle = np.sqrt(inner(v, v))
        return even(angle)[..., None] * x + (odd(angle) / angle)[..., None] * v

    def log() -> np.ndarray:
        cosine = side * inner(x, y)
        angle = arc(cosine)
        return (angle / odd(angle))[..., None] * (y - cosine[..., None] * x)

    return formulas | {"exp": exp, "log": log, "dist": lambda: arc(side * inner(x, y))}


PEERS = {"pymanopt": pymanopt, "geomstats": geomstats, "geoopt": geoopt}

CASES: dict[str, tuple[gd.Manifold, tuple[int, ...]]] = {
    "Sphere(10)": (gd.Sphere(10), (10,)),
    "Sphere(100)": (gd.Sphere(100), (100,)),
    "SPD(3)": (gd.SPD(3), (3,)),
    "SPD(10)": (gd.SPD(10), (10,)),
    "Rotations(3)": (gd.Rotations(3), (3,)),
    "Rotations(5)": (gd.Rotations(5), (5,)),
    "Stiefel(10, 3)": (gd.Stiefel(10, 3), (10, 3)),
    "Grassmann(10, 3)": (gd.Grassmann(10, 3), (10, 3)),
    "Hyperbolic(5)": (gd.Hyperbolic(5), (5,)),
}


HOPELESS = 50.0  # times ours for 100 points: then 10,000 would take minutes


def speed(
    label: str, k: int, apart: float, repeats: int, least: float, skip: set[tuple[str, str]]
) -> dict[str, dict[str, float]]:
    """Seconds a call by operation and package, but for those to skip."""
    manifold, sizes = CASES[label]
    name = label.split("(")[0]
    operations = ours(manifold, () if k == 1 else (k,), apart)
    data = operations.pop("data")
    packages: dict[str, dict] = {"geoduel": operations}
    for peer, make in PEERS.items():
        try:
            found = make(name, sizes, k, data)
        except ImportError:
            continue
        if found is not None:
            packages[peer] = found
    packages["bare"] = bare(name, manifold, k, data)
    table: dict[str, dict[str, float]] = {}
    for operation in OPERATIONS:
        candidates = {}
        for package, functions in packages.items():
            if operation not in functions or (package, operation) in skip:
                continue
            try:
                functions[operation]()
            except Exception as error:  # a peer that fails is reported, and not timed
                print(
                    f"  {package} {operation} on {label} x {k}: {type(error).__name__}: {error}"[
                        :150
                    ]
                )
                continue
            candidates[package] = functions[operation]
        table[operation] = least_times(candidates, repeats, least)
    return table


def sharing(label: str, k: int) -> float:
    """Cost of exp(x, v) and exp(x, -v) together, in multiples of one exp."""
    manifold, _ = CASES[label]
    rng = np.random.default_rng(0)
    x = manifold.random_point(rng, () if k == 1 else (k,))
    v = 0.7 * manifold.unit_tangent(rng, x)
    times = least_times(
        {"one": lambda: manifold.exp(x, v), "two": lambda: manifold.exp_pair(x, v)}, 50
    )
    return times["two"] / times["one"]


def accuracy(results: Results) -> None:
    """Largest error against the reference values, ours and theirs, over the tolerance."""
    if not GOLDEN.is_dir():
        print("no reference values: ../shared/golden is absent")
        return
    files = {
        "sphere": "Sphere",
        "spd": "SPD",
        "so": "Rotations",
        "hyperbolic_lorentz": "Hyperbolic",
    }
    print(f"{'':24s}" + "".join(f"{p:>12s}" for p in ("geoduel", *PEERS)))
    for file, name in files.items():
        worst: dict[tuple[str, str], float] = {}
        for case in json.loads((GOLDEN / f"{file}.json").read_text())["cases"]:
            data = {key: np.asarray(value, float) for key, value in case["inputs"].items()}
            if not {"x", "y", "v", "w"} <= data.keys():
                continue
            x, y, v, w = (data[key] for key in "xyvw")
            size = x.shape[-1]
            if size < 2:
                continue
            manifold = getattr(gd, name)(size - 1 if name == "Hyperbolic" else size)
            sizes = (size - 1,) if name == "Hyperbolic" else (size,)
            mine = {
                "exp": lambda m=manifold, x=x, v=v: m.exp(x, v),
                "log": lambda m=manifold, x=x, y=y: m.log(x, y),
                "dist": lambda m=manifold, x=x, y=y: m.dist(x, y),
            }
            packages = {"geoduel": mine}
            for peer, make in PEERS.items():
                try:
                    packages[peer] = make(name, sizes, 1, (x, v, w, y)) or {}
                except Exception:
                    packages[peer] = {}
            for operation, key in {"exp": "exp_x_v", "log": "log_x_y", "dist": "dist_x_y"}.items():
                entry = case["expected"].get(key)
                if entry is None or entry["value"] is None:
                    continue
                for package, functions in packages.items():
                    if operation not in functions:
                        continue
                    try:
                        got = np.asarray(functions[operation](), float)
                        error = float(np.max(np.abs(got - np.asarray(entry["value"]))))
                    except Exception:
                        error = np.inf
                    if package == "pymanopt" and name == "Rotations" and operation != "exp":
                        continue  # norms there are √2 times ours, tangents are in the Lie algebra
                    at = (operation, package)
                    error = np.inf if np.isnan(error) else error
                    worst[at] = max(worst.get(at, 0.0), error / entry["tol"])
        for operation in ("exp", "log", "dist"):
            row = [worst.get((operation, p)) for p in ("geoduel", *PEERS)]
            cells = "".join(f"{'-' if e is None else format(e, '.2g'):>12s}" for e in row)
            print(f"{name + ' ' + operation:24s}{cells}")
            errors = {p: e for p, e in zip(("geoduel", *PEERS), row, strict=True) if e is not None}
            infinite = sorted(p for p, e in errors.items() if e == inf)
            results.add(f"accuracy {name} {operation}", errors=errors, infinite=infinite)


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--only", nargs="+", choices=CASES, default=CASES, help="these manifolds")
    parser.add_argument(
        "--apart", type=float, default=0.7, help="distance of the points; 0: independent ones"
    )
    options = parser.parse_args()
    quick = not options.full
    results = Results(__file__, options.save, apart=options.apart)
    warnings.simplefilter("ignore")
    print(describe_machine())
    sizes = (1,) if quick else (1, 100, 10_000)
    behind, short = [], []
    for label in options.only:
        skip: set[tuple[str, str]] = set()
        for k in sizes:
            table = speed(
                label, k, options.apart, 3 if quick else 11, 0.001 if quick else 0.01, skip
            )
            print(f"\n{label}, {k} point{'s' * (k > 1)}   microseconds a call (ratio to ours)")
            for operation, times in table.items():
                mine = times["geoduel"]
                cells = [f"geoduel {mine * 1e6:10.1f}"]
                for package, t in times.items():
                    if package != "geoduel":
                        cells.append(f"{package} {t * 1e6:10.1f} ({t / mine:5.1f}x)")
                        if t > HOPELESS * mine and k == 100:
                            skip.add((package, operation))
                        if t < mine and package != "bare":
                            behind.append(f"{label} x {k} {operation}: {package} {mine / t:.2f}x")
                print(f"  {operation:14s}" + "   ".join(cells))
                microseconds = {package: t * 1e6 for package, t in times.items()}
                results.add(f"{label} x {k} {operation}", microseconds=microseconds)
                best = min((times[peer] for peer in PEERS if peer in times), default=inf)
                if best < 3 * mine:
                    limit = times.get("bare")
                    row = f"{label} x {k} {operation:14s}".rjust(40) + f"{mine * 1e6:12.1f}"
                    row += f"{limit * 1e6:12.1f}" if limit else f"{'-':>12s}"
                    row += f"{best * 1e6:12.1f}{best / mine:12.1f}"
                    short.append(row + (f"{best / limit:12.1f}" if limit else f"{'-':>12s}"))
    print("\nexp(x, v) and exp(x, -v) together, in multiples of one exp, for", sizes, "points")
    for label in options.only:
        if label in ("Sphere(100)", "SPD(3)", "SPD(10)", "Rotations(3)", "Rotations(5)"):
            print(f"  {label:14s}", *(f"{sharing(label, k):.2f}" for k in sizes))
    print("\nCells below three times, microseconds")
    heads = "".join(f"{h:>12s}" for h in ("geoduel", "bare", "best peer", "peer/ours", "peer/bare"))
    print(f"{'':40s}{heads}")
    print("\n".join(short))
    print("\nCells where a peer is ahead:", "; ".join(behind) if behind else "none")
    if options.only is CASES:
        print("\nLargest error against the reference values, in multiples of the tolerance")
        accuracy(results)


if __name__ == "__main__":
    main()
