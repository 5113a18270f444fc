"""Many problems by one method, together and one by one."""

import numpy as np

__all__ = ["runs"]

RNG = np.random.default_rng


def runs(method, manifold, f, x0, flip=0.0, steps=12, seed=0, states=None):
    """States of every problem, together and alone, with the same wrong answers.

    They begin at the points ``x0``, or with these states.
    """

    def answer(x, y, coin):
        return np.sign(f(x) - f(y)) * np.where(coin.random(len(x)) < flip, -1, 1)

    rngs, coins = (RNG(seed + k).spawn(len(x0)) for k in (0, 1))
    alone = []
    for j, (rng, coin) in enumerate(zip(rngs, coins, strict=True)):
        state = method.start(manifold, x0[j], rng) if states is None else states[j]
        for _ in range(steps):
            step, sent = method.step(manifold, state, rng), None
            try:
                while True:
                    a, b = step.send(sent)
                    one = a.shape == manifold.point_shape
                    sent = answer(a[None], b[None], coin)[0] if one else answer(a, b, coin)
            except StopIteration as end:
                state = end.value
        alone.append(state)

    rngs, coins = (RNG(seed + k).spawn(len(x0)) for k in (0, 1))
    together = states or [method.start(manifold, x, rng) for x, rng in zip(x0, rngs, strict=True)]
    for _ in range(steps):
        rounds, sent = method.steps(manifold, together, rngs), None
        try:
            while True:
                new = rounds.send(sent)
                answers = np.zeros(new.asked.shape)
                for i, j in enumerate(new.who):
                    right = new.asked[:, i]
                    answers[right, i] = answer(new.x[right, i], new.y[right, i], coins[j])
                sent = answers, np.ones(len(new.who), bool)
        except StopIteration as end:
            together = end.value
    return together, alone
