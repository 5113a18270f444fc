"""What an attack looks like: its table, the scores against queries, the pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..plotting import COLOURS, INK, panels
from ._torch import torch
from .data import Pictures
from .result import AttackResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["line_style", "picture_grid", "progress_figure", "table"]

STYLES = {"comparisons": "-", "labels": "-.", "scores": "--", "gradients": ":"}


def table(results: Mapping[str, AttackResult]) -> list[dict[str, Any]]:
    """One row a method: what it sees, how many it fooled, and medians over the fooled images.

    Parameters
    ----------
    results : mapping
        Results of `geoduel.attack.attack` by label, on the same images.
    """
    rows = []
    for label, r in results.items():
        asked = {"comparisons": r.comparisons, "forward_passes": r.forward_passes}
        asked["radius"] = r.radii
        fooled = {name: counts[r.success].double() for name, counts in asked.items()}
        rows.append(
            {
                "method": label,
                "sees": r.sees,
                "fooled": int(r.success.sum()),
                "images": len(r.success),
                **{name: float(c.quantile(0.5)) if len(c) else None for name, c in fooled.items()},
                "ties": r.ties,
                "seconds": round(r.seconds, 1),
            }
        )
        if r.sees not in ("comparisons", "labels"):
            rows[-1]["comparisons"] = None
    return rows


def line_style(number: int, label: str, sees: str) -> dict[str, Any]:
    """How a method's curve is drawn, by what is seen; see `STYLES`."""
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": STYLES[sees], "label": label}


def progress_figure(
    results: Mapping[str, AttackResult], score: str, x: str = "forward_passes"
) -> Figure:
    """Draw the mean score and the share of fooled images, against forward passes or time.

    Dashed lines see scores, dotted ones gradients.

    Parameters
    ----------
    results : mapping
        Results by label.
    score : str
        What the scores are: "margin" or "loss".
    x : {"forward_passes", "iteration", "seconds"}
        The horizontal axis; forward passes are those an image, on average.
    """
    words = {"forward_passes": "forward passes an image", "iteration": "iterations"}
    with panels(1, 2, width=10, height=3.6) as (figure, axes):
        left, right = axes[0]
        for i, (label, r) in enumerate(results.items()):
            n = len(r.success) if x == "forward_passes" else 1
            at = np.asarray(getattr(r.history, x), dtype=float) / n
            style = line_style(i, label, r.sees)
            if r.history.score:
                left.plot(at, r.history.score, **style)
            right.plot(at, r.history.success, **style)
        left.set_title(f"{score}, highest so far, mean over images")
        right.set_title("share of images misclassified")
        right.set_ylim(0, 1.02)
        for axis in (left, right):
            axis.set_xlabel(words.get(x, x))
            if x == "forward_passes":
                axis.set_xscale("log")
        right.legend(loc="lower right" if len(results) < 5 else "best")
    return figure


def picture_grid(
    pictures: Pictures,
    results: Mapping[str, AttackResult],
    model: Callable[[torch.Tensor], torch.Tensor],
    rows: int = 4,
) -> Figure:
    """Draw originals, each method's image, and below it the difference, magnified.

    Parameters
    ----------
    pictures : Pictures
        The originals with their labels.
    results : mapping
        Results by label, for these pictures.
    model : callable
        Names the answers above the images.
    rows : int
        How many of the pictures, from the first on.
    """
    rows = min(rows, len(pictures))
    with panels(2 * rows, 1 + len(results), 1.5 * (1 + len(results)), 1.6) as (figure, axes):
        for axis in axes.flat:
            axis.set_axis_off()
        for i in range(rows):
            original = pictures.images[i]
            label = int(pictures.labels[i])
            _show(axes[2 * i, 0], original, pictures.classes, label)
            for j, (name, r) in enumerate(results.items(), 1):
                image = r.images[i]
                with torch.no_grad():
                    answer = int(model(image[None])[0].argmax())
                _show(axes[2 * i, j], image, pictures.classes, answer, answer != label)
                difference = (image - original).float()
                scale = 0.5 / max(1e-6, float(difference.abs().max()))
                _show(axes[2 * i + 1, j], 0.5 + scale * difference, (), -1)
                axes[2 * i + 1, j].set_title(
                    f"{name}, × {scale:.0f}" if i == 0 else f"× {scale:.0f}", fontsize=7
                )
    return figure


def _show(
    axis: Any, image: torch.Tensor, classes: tuple[str, ...], answer: int, fooled: bool = False
) -> None:
    pixels = image.detach().float().cpu().clamp(0, 1).permute(1, 2, 0).numpy()
    if pixels.shape[2] == 3:
        axis.imshow(pixels)
    else:
        axis.imshow(pixels.mean(2), cmap="gray", vmin=0, vmax=1)
    if answer >= 0:
        name = classes[answer] if answer < len(classes) else str(answer)
        axis.set_title(name, fontsize=8, color=COLOURS[0] if fooled else INK)
