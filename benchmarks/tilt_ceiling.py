"""How well tilts can be found at all: a person known exactly, and every question of the tree.

    python benchmarks/tilt_ceiling.py [--full] [--save] [--answers 10] [--always-left 0.0]
                                      [--lapse 0.02]

Needs torch. A method that draws nothing asks 2^n - 1 different questions in n answers, so its share
of people within 1 degree is a sum over the 2^n histories, without chance. The person tells a
difference of one degree right three times out of four. The method knows that, the lapses and the
share of "left" regardless; the ideal is within 45 degrees, evenly, but for 3 % of the people.

Printed: that share when each question tells most about the ideal (so `Bisection` asks, mostly), and
when all midpoints of the tree are moved uphill together; then the same from questions after which
the densest window of one degree either way holds most. On the way up the maximum over windows is
softened, so that histories can change the window they stand for. Nothing says that the top found is
the highest; that different starts lead to the same share does suggest it.

Where some answers are "left" regardless the method also chooses the sides, which a study draws.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import math
from collections.abc import Callable, Sequence

from _results import Results
from _results import parser as results_parser

import torch
from torch import Tensor

CELL = 0.25  # degrees
IDEALS = torch.arange(-60 + CELL / 2, 60, CELL, dtype=torch.float64)
WINDOW = round(2 / CELL)  # cells within one degree
PRIOR = torch.exp(-30 * torch.clamp(IDEALS.abs() / 45 - 1, min=0))
PRIOR /= PRIOR.sum()
QUANTILES = torch.linspace(0.1, 0.9, 41, dtype=torch.float64)
SOFT = (2.0, 3.0, 4.0, 6.0, 9.0, 14.0, 20.0, 40.0)

Questions = list[tuple[Tensor, Tensor]]  # a level each: midpoints, and +1 if the upper is left


class Known:
    """The probabilities of a person's answers."""

    def __init__(self, lapse: float, always_left: float) -> None:
        self.lapse, self.always_left = lapse, always_left

    def upper(self, middle: Tensor, side: Tensor) -> Tensor:
        """Probability that the upper of two points is preferred, of shape (questions, ideals)."""
        difference = torch.clamp(2 * (IDEALS - middle[:, None]), -10, 10)
        looks = self.lapse / 2 + (1 - self.lapse) * torch.sigmoid(math.log(3) * difference)
        return (1 - self.always_left) * looks + self.always_left * (side[:, None] > 0)

    def leaves(self, questions: Questions) -> Tensor:
        """Probability of each history and ideal, of shape (2^n, ideals)."""
        f = PRIOR[None]
        for middle, side in questions:
            p = self.upper(middle, side)
            f = torch.stack([f * p, f * (1 - p)], 1).flatten(0, 1)
        return f


def windows(f: Tensor) -> Tensor:
    """Mass of each window."""
    total = torch.nn.functional.pad(torch.cumsum(f, -1), (1, 0))
    return total[..., WINDOW:] - total[..., :-WINDOW]


def information(f: Tensor) -> Tensor:
    """What an answer that leaves f (its joint with the ideal) adds to the information."""
    total = f.sum(1)
    return torch.xlogy(f, f).sum(1) - torch.xlogy(total, total)


def mass(f: Tensor) -> Tensor:
    """Of the densest window."""
    return windows(f).amax(1)


def greedy(person: Known, n: int, worth: Callable[[Tensor], Tensor]) -> Questions:
    """Each question the best for the moment, among quantiles of what is believed."""
    questions: Questions = []
    sides = (1.0, -1.0) if person.always_left else (1.0,)
    for _ in range(n):
        f = person.leaves(questions)
        below = torch.cumsum(f, 1) / f.sum(1, keepdim=True)
        at = torch.searchsorted(below, QUANTILES.expand(len(f), -1).contiguous())
        found: list[Tensor] = []
        for side in sides:
            for quantile, middle in zip(QUANTILES, IDEALS[at].T, strict=True):
                p = person.upper(middle, torch.full_like(middle, side))
                central = -1e-7 * abs(quantile - 0.5)  # of equals
                found.append(worth(f * p) + worth(f * (1 - p)) + central)
        best = torch.stack(found, 1).argmax(1)
        middle = IDEALS[at].gather(1, (best % len(QUANTILES))[:, None])[:, 0]
        side = torch.tensor(sides, dtype=torch.float64)[best // len(QUANTILES)]
        questions.append((middle, side))
    return questions


def uphill(person: Known, questions: Questions, soft: Sequence[float] = SOFT) -> Questions:
    """All midpoints moved so that more people are within one degree in the end."""
    middles = [middle for middle, _ in questions]
    sides = [side for _, side in questions]
    for power in (*soft, math.inf):
        middles = [middle.detach().clone().requires_grad_() for middle in middles]
        search = torch.optim.LBFGS(middles, max_iter=30, line_search_fn="strong_wolfe")

        def loss(middles: list[Tensor] = middles, power: float = power) -> Tensor:
            w = windows(person.leaves(list(zip(middles, sides, strict=True))))
            top = w.amax(1)
            if power < math.inf:
                held = top.detach().clamp(min=1e-300)
                top = held * ((w / held[:, None]) ** power).sum(1) ** (1 / power)
            value = -top.sum()
            for middle, slope in zip(middles, torch.autograd.grad(value, middles), strict=True):
                middle.grad = slope
            return value

        search.step(loss)
    return [(m.detach(), side) for m, side in zip(middles, sides, strict=True)]


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--answers", type=int, help="by default 6, in full 10")
    parser.add_argument("--lapse", type=float, default=0.02)
    parser.add_argument("--always-left", type=float, default=0.0)
    options = parser.parse_args()
    options.answers = options.answers or (10 if options.full else 6)
    settings = {"lapse": options.lapse, "always_left": options.always_left}
    results = Results(__file__, options.save, answers=options.answers, **settings)
    person = Known(options.lapse, options.always_left)
    for worth in (information, mass):
        questions = greedy(person, options.answers, worth)
        shares = [mass(person.leaves(q)).sum() for q in (questions, uphill(person, questions))]
        print(f"{worth.__name__:12} {shares[0]:.4f}, uphill from there {shares[1]:.4f}", flush=True)
        row = f"{worth.__name__}, left {options.always_left:g}, {options.answers} answers"
        results.add(row, greedy=shares[0], uphill=shares[1])


if __name__ == "__main__":
    main()
