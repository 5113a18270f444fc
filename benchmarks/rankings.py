"""How many answers people need where a question tells more than which of two points is better.

    python benchmarks/rankings.py [--full] [--save] [--people 16] [--spaces NAME ...]
                                  [--kinds NAME ...] [--forms NAME ...] [--first-seed 84000]

The same simulated people answer six forms of questions: the better of two points, also with a
strength, the best of four, the best and the worst of four, a ranking of four; on SO(2) of three
instead of four. Of several points people see each loss with a noise of its own, so that two of them
are told apart as in a pair. Strengths are "clearly" beyond a threshold of each person's own, from 2
to 8 JND; the arbitrary ones are drawn by a coin. Nothing says how long an answer takes a person: a
ranking takes longer than a choice.

Printed and stored: the answers after which the median regret, in just-noticeable differences (JND),
stays below 2, 1.5 and 1, its value after a third, two thirds and all of the answers, and how often
the stated region held the ideal in the end.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
from typing import Any

from _results import Results
from _results import parser as results_parser
from _timing import describe_machine

import numpy as np

from _people import ANSWERS, GRID, START, Cell, person_of

from geoduel.methods import for_people
from geoduel.oracles.people import Person

FORMS = {
    "pairs": 2,
    "strengths": 2,
    "arbitrary strengths": 2,
    "best": 4,
    "best and worst": 4,
    "ranking": 4,
}
CLEAR = (2.0, 8.0)  # thresholds of strengths, in JND
BELOW = (2.0, 1.5, 1.0)
SPACES = ("SO(2)", "SO(3)", "S^5")
KINDS = ("fits the model", "asymmetric 20 %", "Weber fraction 0.15", "tiring")
LONGER = 1.4  # times the answers of `people.py`, so that pairs have time to get there


def tell(method: Any, manifold: Any, state: Any, person: Person, form: str, rng: Any) -> Any:
    """Ask one question, and let the person answer."""
    k = min(FORMS[form], 3) if manifold.dim == 1 else FORMS[form]
    points = method.propose_several(manifold, state, rng, k)
    if len(points) == 2:
        left = 1 if rng.random() < 0.5 else -1
        if form == "pairs":
            answer, graded = person.answer(*points, left), {}
        else:
            answer, strength = person.graded(*points, left)
            graded = {"strength": strength}
        return method.update(manifold, state, *points, answer, rng, left=left, **graded)
    order = person.rank(points)
    choices = [order] if form != "ranking" else [order[i:] for i in range(k - 1)]
    for some in choices:
        state = method.choose(manifold, state, points[some], 0, rng)
    if form == "best and worst":
        state = method.choose(manifold, state, points[order[:0:-1]], 0, rng, worst=True)
    return state


def play(cell: Cell, seed: int, form: str, answers: int) -> tuple[list[float], bool]:
    """Regret after each answer, and whether the region holds the ideal in the end."""
    manifold, x0 = START[cell.space]
    rng = np.random.default_rng(seed)
    person = person_of(cell, rng)
    person.clear = float(np.exp(np.random.default_rng([seed, 1]).uniform(*np.log(CLEAR))))
    person.arbitrary = float(form == "arbitrary strengths")
    method = for_people(manifold)
    state = method.start(manifold, x0, rng)
    regrets = []
    for _ in range(answers):
        state = tell(method, manifold, state, person, form, rng)
        regrets.append(person.regret(state.best))
    return regrets, person.error(state.best) <= state.uncertainty


def first(medians: np.ndarray, below: float) -> int | None:
    """Answers after which the median stays below; None if it does not."""
    above = np.flatnonzero(medians > below)
    after = int(above[-1]) + 2 if len(above) else 1
    return after if after <= len(medians) else None


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--people", type=int, help="people a cell; by default 2, in full 16")
    parser.add_argument("--spaces", nargs="+", choices=tuple(ANSWERS))
    parser.add_argument("--kinds", nargs="+")
    parser.add_argument("--forms", nargs="+", choices=tuple(FORMS), default=tuple(FORMS))
    parser.add_argument("--first-seed", type=int, default=84_000)
    options = parser.parse_args()
    print(describe_machine())
    people = options.people or (16 if options.full else 2)
    seeds = range(options.first_seed, options.first_seed + people)
    results = Results(__file__, options.save, people=people, seeds=[seeds[0], seeds[-1]])
    for space in options.spaces or (SPACES if options.full else SPACES[:1]):
        for kind in options.kinds or (KINDS if options.full else KINDS[:1]):
            cell = GRID[f"{space}: {kind}"]
            for form in options.forms:
                answers = round(LONGER * cell.answers * (1 if FORMS[form] == 2 else 0.7))
                runs = [play(cell, seed, form, answers) for seed in seeds]
                medians = np.median([regrets for regrets, _ in runs], axis=0)
                inside = float(np.mean([held for _, held in runs]))
                after = {str(below): first(medians, below) for below in BELOW}
                shown = ", ".join(f"{b}: {n or '–'}" for b, n in after.items())
                print(
                    f"{space}: {kind:22} {form:15} | answers to a median regret of {shown} | "
                    f"{medians[-1]:.2f} JND after {answers}, inside {inside:.2f}",
                    flush=True,
                )
                results.add(
                    f"{space}: {kind}: {form}",
                    answers=answers,
                    after=after,
                    medians=medians[[answers // 3 - 1, 2 * answers // 3 - 1, -1]],
                    inside=inside,
                )


if __name__ == "__main__":
    main()
