"""Catalogues: whether the item that a person likes best is among the ten recommended ones.

    python benchmarks/catalogues.py [--full] [--save] [--items 10000] [--people 10]
                                    [--rows NAME ...] [--first-seed 80000]

Without arguments: a person of the first row, and a smaller catalogue.

Items are random points of a space, drawn anew for each person. A person has a just-noticeable
difference (JND) of one degree and 2 % lapses unless the kind says otherwise; a "degree" is the
ninetieth part of the typical distance, as on a sphere. The ideal is another random point
("anywhere"), or lies five degrees beside an item ("beside an item"): in many dimensions a random
point is far from all items, and then nothing in the catalogue is what the person wants. The person
answers the questions of a study, repeats included. Printed, and kept in a row: the share of people
whose best item (that of least loss, as they see it) is among the ten recommended ones after so many
answers, the median number of items that are better than the first of these, and the time of an
answer (CPU, ask and tell).

Constants were chosen on seeds below 5000 and people who fit the model.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import time
from dataclasses import dataclass
from typing import Any

from _results import Results
from _results import parser as results_parser
from _timing import describe_machine

import numpy as np

from _people import degree

import geoduel as gd
from geoduel.oracles import draw_person
from geoduel.oracles.people import KINDS

LIST = 10
AT = (10, 15, 20, 25, 30)
BESIDE = 5.0  # degrees
FITS = ("fits the model",)


@dataclass(frozen=True)
class Cell:
    """Where the items lie, where ideals do, and what people are like."""

    manifold: gd.Manifold
    kinds: tuple[str, ...] = FITS
    beside: bool = False
    answers: int = 25


CELLS = {
    "H^2, anywhere": Cell(gd.Hyperbolic(2)),
    "H^2, anywhere, all kinds": Cell(gd.Hyperbolic(2), tuple(KINDS)),
    "S^15, anywhere": Cell(gd.Sphere(16), answers=30),
    "S^15, beside an item": Cell(gd.Sphere(16), beside=True, answers=30),
    "S^15, beside an item, all kinds": Cell(gd.Sphere(16), tuple(KINDS), True),
}


def measure(cell: Cell, kind: str, count: int, seed: int) -> dict[str, Any]:
    """One person: whether the best item is in the list after so many answers."""
    manifold, rng = cell.manifold, np.random.default_rng(seed)
    items = manifold.random_point(rng, (count,))
    unit, ideal = degree(manifold), manifold.random_point(rng)
    if cell.beside:
        item = items[rng.integers(count)]
        ideal = manifold.exp(item, BESIDE * unit * manifold.unit_tangent(rng, item))
    person = draw_person(manifold, ideal, rng, 1e-6, kind=kind, jnd=unit)
    losses = np.array([person.loss(x) for x in items])
    best = int(np.argmin(losses))
    study = gd.create_study(manifold, among=items, rng=seed)
    found, spent = {}, 0.0
    for n in range(1, cell.answers + 1):
        began = time.process_time()
        duel = study.ask()
        spent += time.process_time() - began
        answer = person.rate(duel)
        began = time.process_time()
        study.tell(duel, answer)
        spent += time.process_time() - began
        if n in AT:
            found[n] = best in study.rank(LIST)
    better = int((losses < losses[study.rank(1)[0]]).sum())
    return {"found": found, "better": better, "ms": 1e3 * spent / cell.answers}


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--items", type=int, help="how many; 10,000 in full")
    parser.add_argument("--people", type=int, help="of each kind")
    parser.add_argument(
        "--rows", nargs="+", choices=tuple(CELLS), help="by default one, in full all"
    )
    parser.add_argument("--first-seed", type=int, default=80_000)
    options = parser.parse_args()
    print(describe_machine())
    count = options.items or (10_000 if options.full else 1_000)
    for name in options.rows or tuple(CELLS)[: None if options.full else 1]:
        cell = CELLS[name]
        people = options.people or (30 if options.full else 1)
        kinds = cell.kinds if options.full else cell.kinds[:3]
        if len(kinds) > 1:
            people = options.people or (2 if options.full else 1)
        seeds = range(options.first_seed, options.first_seed + people)
        rows = [measure(cell, kind, count, seed) for kind in kinds for seed in seeds]
        share = {n: np.mean([row["found"][n] for row in rows]) for n in rows[0]["found"]}
        better = float(np.median([row["better"] for row in rows]))
        ms = float(np.mean([row["ms"] for row in rows]))
        course = ", ".join(f"{n}: {s:.2f}" for n, s in share.items())
        print(
            f"{name:34} {len(rows):3} people | among {LIST} after {course}"
            f" | better than the first: {better:g} | {ms:.0f} ms an answer",
            flush=True,
        )
        common = {"seeds": f"{seeds[0]} to {seeds[-1]}", "items": count}
        Results(__file__, options.save, **common).add(
            name, people=len(rows), share=share, better=better, ms=ms
        )


if __name__ == "__main__":
    main()
