"""Derivatives, stated by hand, for values that torch is to differentiate."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from .arrays import Array

__all__ = ["attach", "detached", "tracked"]


def tracked(*arrays: Array) -> bool:
    """Whether torch records what is done to any of the arrays, to differentiate it."""
    return any(getattr(a, "requires_grad", False) for a in arrays)


def detached(a: Array) -> Array:
    """The numbers of an array without their gradient."""
    return a.detach() if tracked(a) else a


def attach(
    value: Array, inputs: tuple[Array, ...], adjoint: Callable[[Array], tuple[Array, ...]]
) -> Array:
    """Give ``value`` its derivative where torch asks for gradients; otherwise return it as it is.

    Parameters
    ----------
    value : array
        Computed from the numbers of ``inputs`` alone (`detached`).
    inputs : tuple of arrays
        The arrays on which the value depends.
    adjoint : callable
        Maps the gradient with respect to the value to those with respect to the inputs. It is not
        differentiated itself: second derivatives raise `NotImplementedError`.
    """
    return _attached().apply(value, adjoint, *inputs) if tracked(*inputs) else value


@cache
def _attached() -> Any:
    import torch

    class Attached(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Any, adjoint: Any, *inputs: Any) -> Any:
            ctx.adjoint = adjoint
            ctx.save_for_backward(*inputs)
            return value.view_as(value)

        @staticmethod
        def backward(ctx: Any, *grad_outputs: Any) -> Any:
            inputs = ctx.saved_tensors
            grads = zip(ctx.adjoint(*map(detached, grad_outputs)), inputs, strict=True)
            fit = (g.sum_to_size(a.shape) for g, a in grads)
            return None, None, *(Final.apply(g, *grad_outputs, *inputs) for g in fit)

    class Final(torch.autograd.Function):
        """A gradient that depends on inputs in a way not worked out: refused rather than wrong."""

        @staticmethod
        def forward(ctx: Any, value: Any, *inputs: Any) -> Any:
            return value.view_as(value)

        @staticmethod
        def backward(ctx: Any, *grad_outputs: Any) -> Any:
            raise NotImplementedError("second derivatives of this function are not implemented")

    return Attached
