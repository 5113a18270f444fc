"""Figures. Needs the extra ``plot`` (matplotlib)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import MissingExtraError

if TYPE_CHECKING:
    from .reproduce import Run

__all__ = ["convergence_figure"]

LABELS = {"duels": "duels (values of f for ZO-RGD)", "iteration": "iterations"}
# Colours that stay apart for colour-blind readers and in grey (Okabe and Ito).
COLOURS = ["#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]


def convergence_figure(runs: Sequence[Run], titles: dict[str, str], path: Path) -> Path:
    """Draw the gap f - f* against iterations, duels and seconds: median and quartiles over seeds.

    Parameters
    ----------
    runs : sequence of Run
        Of any experiments; each experiment and size gets a row.
    titles : dict
        Title of a row by experiment name.
    path : Path
        File to write; the ending names the format.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # without pyplot: no global state, no display
    except ImportError:
        raise MissingExtraError("figures need matplotlib: pip install 'geoduel[plot]'") from None
    rows = list(dict.fromkeys((r.experiment, r.size) for r in runs))
    figure = Figure(figsize=(13, 3.6 * len(rows)), layout="constrained")
    axes = figure.subplots(len(rows), 3, squeeze=False)
    for (name, size), line in zip(rows, axes, strict=True):
        group = [r for r in runs if (r.experiment, r.size) == (name, size)]
        for axis, what in zip(line, ("iteration", "duels", "seconds"), strict=True):
            for colour, label in zip(COLOURS, dict.fromkeys(r.label for r in group), strict=False):
                _band(axis, [r for r in group if r.label == label], what, colour)
            axis.set_yscale("log")
            axis.set_xlabel(LABELS.get(what, what))
            axis.grid(alpha=0.25)
            axis.spines[["top", "right"]].set_visible(False)
        line[0].set_ylabel("f(x) - f*")
        line[0].set_title(f"{titles[name]} {size}", loc="left")
        line[2].legend(frameon=False)
    figure.savefig(path, dpi=120)
    return path


def _band(axis: Any, runs: Sequence[Run], what: str, colour: str) -> None:
    """Median over seeds and, around it, the quartiles."""
    length = min(len(r.gap) for r in runs)
    x = np.median([getattr(r.history, what)[:length] for r in runs], axis=0)
    # A gap is known to about 15 digits of the start's; below that it would be rounding, or zero.
    gaps = [np.maximum(r.gap[:length], 1e-15 * r.start_gap) for r in runs]
    low, middle, high = np.percentile(gaps, [25, 50, 75], axis=0)
    style = "--" if runs[0].sees == "values" else "-"
    axis.plot(x, middle, style, color=colour, label=runs[0].label, linewidth=1.6)
    axis.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
