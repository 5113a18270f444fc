"""Gradients stated by hand, for torch."""

from __future__ import annotations

import numpy as np
import pytest

from geoduel._numerics.gradients import attach, detached, tracked


def test_attach_states_a_gradient():
    torch = pytest.importorskip("torch")
    a = torch.ones(2, dtype=torch.float64, requires_grad=True)
    b = torch.ones(3, 2, dtype=torch.float64, requires_grad=True)
    value = attach((a * b).detach() ** 2, (a, b), lambda g: (2 * g, 5 * g))
    (value.sum() * 3).backward()
    assert a.grad.tolist() == [18.0, 18.0]  # summed over the axis that was broadcast
    assert b.grad.tolist() == [[15.0, 15.0]] * 3
    plain = np.ones(2)
    assert attach(plain, (plain,), lambda g: (g,)) is plain


def test_numbers_without_their_gradient():
    torch = pytest.importorskip("torch")
    a = torch.ones(2, dtype=torch.float64, requires_grad=True)
    assert tracked(np.ones(2), a)
    assert not tracked(np.ones(2), detached(a), 0.5)
    assert detached(a).tolist() == [1.0, 1.0]
    plain = np.ones(2)
    assert detached(plain) is plain
