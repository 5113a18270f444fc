"""The fit of DuelNewton: the gradient and Hessian that explain duels best."""

from __future__ import annotations

import numpy as np

from .memory import Memory, Stretch, Window, logistic

__all__ = ["fit"]


def fit(
    duels: Window,
    tau: float,
    lapse: float,
    near: float = 0.0,
    memory: Memory | None = None,
    steps: int = 2,
) -> tuple[np.ndarray, Stretch]:
    """Most probable gradient and Hessian, given duels.

    Maximises Σ log[ε + (1-2ε) σ(1.7 s_i e_i'(g + H z_i)/w_i)] - |H - I|²/(2τ²) - |g|²/(2ρ²) over
    vectors g and symmetric H: logistic regression with lapses. Two Newton steps with the majorised
    Hessian of the logarithm, each by at most 7 steps of conjugate gradients. Remembered gradients
    g_k at z_k subtract |g_k - g - H z_k|²/2, in the norm of their precision.

    The answers depend on H only through S = (H - I) Q, with orthonormal columns Q that span the k
    centres, and the prior then makes H = I + SQ' + QS' - QQ'SQ'. So the unknowns are g and S, and
    all products cost N d k operations; k is about the number of blocks remembered.

    Centres taken relative to their weighted mean decouple g from S. The preconditioner for H - I is
    (M X + X M)/2 + X/τ² with M the weighted mean of z z'/d, whose eigenbasis is taken for Q. It is
    exact for blocks of d orthonormal duels about one centre.

    Parameters
    ----------
    duels : Window
        e_i, z_i, s_i and w_i.
    tau, lapse : float
        τ and ε.
    near : float
        1/ρ². The prior of g is that of H = I: it ties the gradient about the mean centre.
    memory : Memory, optional
        The remembered gradients.
    steps : int
        Newton steps: rankings take more, since their margins are sharp.

    Returns
    -------
    g : ndarray of shape (d,)
        Gradient at the origin of the coordinates.
    H : Stretch
        Hessian; it differs from I in at most 2k directions.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.zeros(2, dtype=int)  # both duels are about the first centre
    >>> duels = Window(np.eye(2), np.zeros((1, 2)), one, np.array([1.0, -1.0]), np.ones(2))
    >>> g, H = fit(duels, 0.1, 0.05)
    >>> bool(g[0] > 0 > g[1]), H.w
    (True, array([1., 1.]))
    """
    E, Z, about, s, blur = duels
    d = E.shape[1]
    if not len(s):
        return np.zeros(d), Stretch.identity(d)
    slope = 1.7 / blur
    energy = np.vecdot(E, E) / d
    # Slopes are rows of E (G + Q) X', where G is g and S, and X is 1 and the centre's coordinates.
    memory = Memory.empty(d) if memory is None else memory
    Z, old = np.concatenate([Z, memory.centres]), len(Z)
    Q = np.concatenate([np.zeros((d, 1)), np.linalg.qr(Z.T)[0]], axis=1)
    C = Z @ Q
    C[:, 0] = 1
    G = np.zeros_like(Q)
    stiffness = np.full(Q.shape[1], 1 / tau**2)
    stiffness[0] = 0
    for _ in range(steps):
        X = C[about]
        rise, bend = logistic(s * slope * np.vecdot(E @ (G + Q), X), lapse)
        weight, force = bend * slope**2, rise * s * slope

        # Principal axes of the centres, about their mean.
        mass = np.bincount(about, weight * energy, len(C))
        mass[old:] += memory.across
        total = max(1e-300, float(np.sum(mass)))  # zero where no duel was between two points
        mean = mass @ C[:, 1:] / total
        C[:, 1:] -= mean
        m, V = np.linalg.eigh((C[:, 1:] * (mass / d)[:, None]).T @ C[:, 1:])
        G[:, 0] += (G + Q)[:, 1:] @ mean
        for a in (Q, C, G):
            a[:, 1:] = a[:, 1:] @ V
        X, Y = C[about], C[old:]
        spread = np.concatenate([[total + near], m]) + 2 * stiffness
        inside = np.zeros((len(spread), len(spread)))
        inside[1:, 1:] = 1 / (m[:, None] + spread[1:]) - 1 / spread[1:]

        # Conjugate gradients for the Newton step.
        R = E.T @ (X * force[:, None]) - _normal(G, Q) * stiffness
        R += memory.weighted(memory.gradients - Y @ (G + Q).T).T @ Y
        R[:, 0] -= near * (G[:, 0] + Q @ (C[0] - Z[0] @ Q))
        P = _precondition(R, Q, spread, inside)
        residual = first = float(np.vdot(R, P))
        if not first > 0:  # nothing but ties
            break
        for _ in range(7):
            T = E.T @ (X * (np.vecdot(E @ P, X) * weight)[:, None]) + _normal(P, Q) * stiffness
            T += memory.weighted(Y @ P.T).T @ Y
            T[:, 0] += near * P[:, 0]
            bent = float(np.vdot(P, T))
            if not bent > 0:  # too little for numbers
                break
            length = residual / bent
            G += length * P
            R -= length * T
            T = _precondition(R, Q, spread, inside)
            new = float(np.vdot(R, T))
            if new < 1e-4 * first:
                break
            P = T + new / residual * P
            residual = new

    g = (G + Q) @ (C[0] - Z[0] @ Q)  # at the base point
    Q, S = Q[:, 1:], G[:, 1:]
    basis = np.linalg.qr(np.concatenate([Q, S], axis=1))[0]
    a, b = basis.T @ Q, basis.T @ S
    w, V = np.linalg.eigh(b @ a.T + a @ (b - a @ (Q.T @ S)).T)
    return g, Stretch(1 + w, basis @ V)


def _normal(S: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Gradient of |SQ' + QS' - QQ'SQ'|²/2 by S, for symmetric Q'S."""
    return 2 * S - Q @ (Q.T @ S)


def _precondition(
    F: np.ndarray, Q: np.ndarray, spread: np.ndarray, inside: np.ndarray
) -> np.ndarray:
    """X Q for the solution X of (M X + X M)/2 + X/τ² = (FQ' + QF')/2, where M Q = Q diag(m).

    What of F is orthogonal to Q is divided by ``spread`` = m + 2/τ², the rest by m_i + m_j + 2/τ².
    """
    a = Q.T @ F
    return F / spread + Q @ (a.T / spread + (a + a.T) * inside)
