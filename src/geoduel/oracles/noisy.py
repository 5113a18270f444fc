"""An oracle whose answers are wrong now and then, on purpose."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any, Literal

import numpy as np

from .._numerics.arrays import Array, device, namespace
from .._numerics.batches import as_like
from .._support.check import as_generator, nonnegative, one_of, positive, real
from ..errors import ArgumentError
from .base import Oracle, answer_of, answers
from .objective import Objective
from .wrappers import Wrapper

__all__ = ["Noisy"]


class Noisy(Wrapper):
    """Answers with errors, as people and simulators give them.

    The errors are made in this order, each only if asked for:

    1. a model of noise: with D = f(x) - f(y) + ``scale`` ε the answer is the sign of D, and a tie
       if ``|D| <= ties``. "bradley-terry": ε is logistic, so y wins with probability
       1/(1 + exp(-(f(x) - f(y))/scale)) where there are no ties (with them, Rao and Kupper's
       model). "thurstone": ε is standard normal, so y wins with probability Φ((f(x) - f(y))/scale);
       ``scale`` is the deviation of the difference, √2 times that of each value in Thurstone's
       case V;
    2. flips: with probability ``flip`` the answer changes its sign (a tie stays a tie);
    3. lapses: with probability ``lapse`` the answer is +1 or -1 at random.

    Parameters
    ----------
    oracle : Oracle
        The oracle to disturb. For a model it must come from `from_objective`: that has the values.
    flip : float
        Probability of the opposite answer.
    model : {"bradley-terry", "thurstone"}, optional
        Noise that fades as the values move apart.
    scale : float, > 0
        Size of that noise, in units of f; by default 1. Needs a model.
    lapse : float
        Probability of an answer at random.
    ties : float, >= 0
        Half-width of the zone of D that is a tie, in units of f. Needs a model.
    rng : int or numpy.random.Generator, optional
        Source of the errors.

    Raises
    ------
    ArgumentError
        If a probability is outside [0, 1], if a model is asked for without the values it needs, or
        if what belongs to a model comes without one.

    References
    ----------
    Bradley and Terry, Biometrika 39 (1952); Thurstone, Psychological Review 34 (1927); Rao and
    Kupper, JASA 62 (1967).

    Examples
    --------
    >>> import numpy as np
    >>> from geoduel.oracles import from_objective
    >>> oracle = Noisy(from_objective(lambda x: float(x @ x)), flip=0.25, rng=0)
    >>> sum(oracle(np.ones(2), np.zeros(2)) == -1 for _ in range(1000)) / 1000
    0.231
    """

    def __init__(
        self,
        oracle: Oracle,
        flip: float = 0.0,
        *,
        model: Literal["bradley-terry", "thurstone"] | None = None,
        scale: float | None = None,
        lapse: float = 0.0,
        ties: float = 0.0,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(oracle)
        self.flip = _probability(flip, "flip")
        self.lapse = _probability(lapse, "lapse")
        self.scale = positive(1.0 if scale is None else scale, "scale")
        self.ties = nonnegative(ties, "ties")
        self.model = model
        self.rng = as_generator(rng)
        if model is None:
            for name, value in {"ties": ties or None, "scale": scale}.items():
                if value is not None:
                    raise ArgumentError(f"{name}={value!r} needs a model of the noise: give model=")
        else:
            one_of(model, "model", ("bradley-terry", "thurstone"))
            if not isinstance(oracle, Objective):
                raise ArgumentError(
                    f"model={model!r} needs the values behind the duels: wrap an oracle made by "
                    f"from_objective directly, got {oracle!r:.80}"
                )
            self._difference = oracle.difference

    def answers(
        self, x: Array, y: Array, point_ndim: int | None = None, executor: Executor | None = None
    ) -> Any:
        if self.model is None:
            answer = answers(self.oracle, x, y, point_ndim, executor)
        else:
            answer = self._judge(x, y, point_ndim, executor)
        shape = getattr(answer, "shape", ())
        if self.flip:
            answer = _choose(self.rng.random(shape) < self.flip, -answer, answer)
        if self.lapse:
            coin = 2 * self.rng.integers(2, size=shape) - 1
            answer = _choose(self.rng.random(shape) < self.lapse, coin, answer)
        return answer

    def _judge(self, x: Array, y: Array, point_ndim: int | None, executor: Executor | None) -> Any:
        difference = self._difference(x, y, point_ndim, executor)
        draw = self.rng.logistic if self.model == "bradley-terry" else self.rng.normal
        if isinstance(difference, float):
            noisy = difference + draw(0.0, self.scale)
        else:
            noisy = difference + as_like(draw(0.0, self.scale, difference.shape), difference)
        return answer_of(noisy > self.ties, noisy < -self.ties, x)


def _choose(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where the condition, drawn on the host, holds and ``b`` elsewhere; ``b`` tells kind."""
    if isinstance(b, int):
        return int(a) if condition else b
    xp = namespace(b)
    return xp.where(xp.asarray(condition, device=device(b)), as_like(a, b), b)


def _probability(value: Any, name: str) -> float:
    if not 0 <= real(value, name) <= 1:
        raise ArgumentError(f"{name} must be a probability in [0, 1], got {value!r}")
    return float(value)
