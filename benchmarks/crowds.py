"""Crowds: camps of raters are found where there are some, and only there.

    python benchmarks/crowds.py [--full] [--save] [--crowds 30] [--spaces NAME ...]
                                [--sorts NAME ...] [--first-seed 80000]

Without arguments: one crowd of each sort, and five answers of each rater.

Six raters with a just-noticeable difference of one degree answer 20 questions each, in turn, asked
by the method for people through a study. Their common ideal is 20 degrees from the start. Sorts:
one ideal, with JNDs mixed by factors of two; own ideals 4 degrees from a common one; two camps of
three, 30 degrees apart; one rater 30 degrees from five. Printed: how many crowds have several
camps after 10, 15 and 20 answers of each; how many have the right members at last; and how far the
common result, or that of a rater's camp, and `recommend(rater=)` are from the rater's own ideal
(medians, degrees).
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
from typing import Any

from _results import Results
from _results import parser as results_parser
from _timing import describe_machine

import numpy as np

from _people import START, asked_by

import geoduel as gd
from geoduel.oracles import Person, draw_crowd, draw_person
from geoduel.oracles.people import DEGREE

RATERS, ANSWERS, APART = 6, 20, 30 * DEGREE
LOOKS = (10, 15, 20)  # answers of each, after which it is asked for camps
SORTS = {"one ideal": 0, "own ideals": 0, "two camps": 3, "one apart": 1}  # raters elsewhere
SPACES = ("S^2", "SO(2)", "SO(3)")


def crowd(sort: str, manifold: gd.Manifold, x0: np.ndarray, seed: int) -> list[Person]:
    """The raters of one crowd; those elsewhere come last."""
    rng = np.random.default_rng(seed)
    if sort == "one ideal":
        return draw_crowd(manifold, x0, rng, RATERS, varied=np.log(2))
    near = 4 * DEGREE if sort == "own ideals" else 0.0
    people = draw_crowd(manifold, x0, rng, RATERS, disagreement=near)
    if n := SORTS[sort]:
        other = draw_person(manifold, people[0].ideal, rng, APART).ideal
        elsewhere = [Person(manifold, other, int(rng.integers(2**31))) for _ in range(n)]
        people[-n:] = elsewhere
    return people


def camps(sort: str, space: str, seed: int, answers: int = ANSWERS) -> dict[str, Any]:
    """What a study says of one crowd."""
    manifold, x0 = START[space]
    people = crowd(sort, manifold, x0, seed)
    study = gd.create_study(manifold, rng=seed, x0=x0)
    names = [f"rater {i}" for i in range(RATERS)]
    several = {}
    for n in range(1, answers + 1):
        for name, person in zip(names, people, strict=True):
            duel = study.ask(rater=name)
            study.tell(duel, person.rate(duel), rater=name)
        if n in LOOKS:
            several[n] = len(study.camps()) > 1
    found = study.camps()
    point_of = {name: camp.point for camp in found for name in camp.members}
    n = RATERS - SORTS[sort]
    right = {frozenset(names[:n]), frozenset(names[n:])} - {frozenset()}
    off = [
        (
            person.error(point_of.get(name, study.recommend())) / DEGREE,
            person.error(study.recommend(rater=name)) / DEGREE,
        )
        for name, person in zip(names, people, strict=True)
    ]
    return {
        "several": len(found) > 1,
        "after": several,
        "right": {frozenset(camp.members) for camp in found} == right,
        "off": off,
    }


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--crowds", type=int, help="crowds of each sort; by default 1, in full 30")
    parser.add_argument("--spaces", nargs="+", choices=SPACES, default=SPACES[:1])
    parser.add_argument("--sorts", nargs="+", choices=tuple(SORTS), default=tuple(SORTS))
    parser.add_argument("--first-seed", type=int, default=80_000)
    options = parser.parse_args()
    print(describe_machine())
    crowds = options.crowds or (30 if options.full else 1)
    seeds = range(options.first_seed, options.first_seed + crowds)
    answers = ANSWERS if options.full or options.crowds else 5
    results = Results(__file__, options.save, crowds=crowds, seeds=[seeds[0], seeds[-1]])
    for space in options.spaces:
        method = asked_by(gd.for_people(START[space][0]))
        for sort in options.sorts:
            found = [camps(sort, space, seed, answers) for seed in seeds]
            several, right = (sum(one[key] for one in found) for key in ("several", "right"))
            after = {n: sum(one["after"][n] for one in found) for n in LOOKS if n <= answers}
            camp, own = np.median(np.concatenate([one["off"] for one in found]), axis=0)
            course = ", ".join(f"{n}: {count}" for n, count in after.items())
            print(
                f"{space:6} {sort:10} {crowds:3} crowds by {method} | several camps {several:3}"
                f" ({course}), as they are {right:3} | camp {camp:5.2f}, recommended {own:5.2f}"
                " degrees off",
                flush=True,
            )
            results.add(
                f"{space}: {sort}",
                method=method,
                several=several,
                after=after,
                right=right,
                camp=camp,
                own=own,
            )


if __name__ == "__main__":
    main()
