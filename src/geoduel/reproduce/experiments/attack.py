"""Attack on a network: PGD, RGD, ZO-RGD and RDNGD, as published and repaired (its figure 5).

It needs torch. ``Plan.attack_data`` is a folder with pictures (CIFAR-10 in a form that
`geoduel.attack.load_pictures` reads) and one ``.safetensors`` file of a VGG-11. Without it the
attacked pictures are scikit-learn's digits, and a small network learns them first; the section says
which were taken. A task is one method on all images, so that methods run side by side.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ...attack.command import DIGITS, prepared, usual_eps
from ...errors import TiesWarning
from ...plotting import panels
from ..experiment import Experiment, Outcome, Plan, Task
from ..report import Figure, Gallery, Part, Section, Table

__all__ = ["ATTACK", "Attack"]

# Label: method, directions, iterations, least questions an iteration asks.
LINES: dict[str, tuple[str, str | None, int, int]] = {
    "PGD": ("pgd", None, 100, 1),
    "RGD": ("rgd", None, 100, 1),
    "ZO-RGD": ("zo-rgd", None, 20, 501),
    "RDNGD, settings of the text": ("rdngd-paper", None, 200, 10),
    "RDNGD, settings of the code": ("rdngd-released", None, 200, 10),
    "RDNGD, repaired": ("rdngd", None, 200, 10),
    "default method": ("auto", None, 2000, 1),
}
SHOWN = ("PGD", "RGD", "ZO-RGD", "RDNGD, settings of the code", "default method")
PICTURES = 3


class Attack(Experiment):
    """See the module."""

    name = "attack"
    title = "Attack on a deep neural network"
    version = 2

    def tasks(self, plan: Plan) -> list[Task]:
        if find_spec("torch") is None:
            return []
        data = DIGITS if plan.attack_data is None else str(plan.attack_data)
        images = (20 if plan.quick else 60) if data == DIGITS else (4 if plan.quick else 30)
        share = 5 if plan.quick else 1
        return [
            Task(
                f"attack: {label}",
                {
                    "label": label,
                    "method": method,
                    "directions": directions,
                    "budget": -(-iterations // share) * questions,
                    "data": data,
                    "images": images,
                    "eps": usual_eps(data),
                    "oracle": "loss",
                    "seed": 0,
                },
            )
            for label, (method, directions, iterations, questions) in LINES.items()
        ]

    def run(self, settings: dict[str, Any]) -> dict[str, Any]:
        import torch

        from ...attack import attack
        from ...attack.figures import table

        torch.set_num_threads(1)  # tasks run side by side
        network, pictures = prepared(settings["data"], None, settings["images"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TiesWarning)  # counted, and the point of two lines
            result = attack(
                network,
                pictures.images,
                pictures.labels,
                **{k: settings[k] for k in ("method", "directions", "budget", "eps", "oracle")},
                rng=settings["seed"],
            )
        with torch.no_grad():
            answers = network(result.images[:PICTURES]).argmax(1).tolist()
        h = result.history
        every = max(1, len(h.iteration) // 200)
        return {
            "row": table({settings["label"]: result})[0],
            "success": result.success.tolist(),
            "comparisons": result.comparisons.tolist(),
            "forward_passes": result.forward_passes.tolist(),
            "iteration": h.iteration[::every],
            "loss": h.score[::every],
            "time": h.seconds[::every],
            "originals": _bytes(pictures.images[:PICTURES]),
            "pictures": _bytes(result.images[:PICTURES]),
            "labels": pictures.labels[:PICTURES].tolist(),
            "answers": answers,
            "classes": list(pictures.classes),
        }

    def section(self, plan: Plan, outcomes: Sequence[Outcome]) -> Section:
        if not outcomes:
            return Section(
                self.name, self.title, ["Not run: it needs torch (pip install 'geoduel[attack]')."]
            )
        by = {o.task.settings["label"]: o.record for o in outcomes}
        by = {label: by[label] for label in LINES if label in by}
        settings = outcomes[0].task.settings
        what = (
            "scikit-learn's digits and a small convolutional network trained on the spot (the "
            "paper's CIFAR-10 and VGG with `--attack-data`)"
            if settings["data"] == DIGITS
            else f"the pictures and the network in `{Path(settings['data']).name}`"
        )
        parts: list[Part] = [
            f"Perturbations on the sphere of radius {settings['eps']:g}·|x| around "
            f"{settings['images']} images that the network classifies right: {what}. Methods "
            "maximise the network's loss; an image is done when its answer changes. PGD and RGD "
            "see gradients, ZO-RGD sees 500 values an iteration, the others compare pairs of "
            "images and see nothing else.",
            Figure("attack-loss", _curves(by), CAPTION),
            Table(
                ("method", "sees", "misclassified", "comparisons", "forward passes", "ties"),
                [_row(label, r) for label, r in by.items()],
                "Comparisons and forward passes are medians over the images that were fooled. "
                "Ties: share of the comparisons whose two images get the same loss.",
                "attack",
            ),
            Gallery(_pictures(by), "Originals, and what the methods made of them."),
        ]
        rows = [
            {"experiment": self.name, "method": label, "sees": r["row"]["sees"], **_counts(r)}
            for label, r in by.items()
        ]
        return Section(self.name, self.title, parts, rows=rows)


CAPTION = (
    "Mean over images of the highest loss so far, against iterations and seconds; images that are "
    "done keep theirs. An iteration is one gradient (PGD, RGD), 501 values (ZO-RGD), ten "
    "comparisons (RDNGD) or one (default method). Right: misclassified images against forward "
    "passes an image."
)


def _curves(by: dict[str, dict[str, Any]]) -> Any:
    from ...attack.figures import line_style

    with panels(1, 3) as (figure, axes):
        for i, (label, r) in enumerate(by.items()):
            style = line_style(i, label, r["row"]["sees"])
            axes[0, 0].plot(np.add(r["iteration"], 1), r["loss"], **style)
            axes[0, 1].plot(r["time"], r["loss"], **style)
            spent = sorted(p for p, s in zip(r["forward_passes"], r["success"], strict=True) if s)
            share = np.arange(1, len(spent) + 1) / len(r["success"])
            axes[0, 2].step([1, *spent], [0, *share], where="post", **style)
        for axis, words in zip(
            axes[0], ("iterations + 1", "seconds", "forward passes"), strict=True
        ):
            axis.set_xlabel(words)
            axis.set_xscale("log")
        axes[0, 0].set_title("loss")
        axes[0, 1].set_title("loss")
        axes[0, 2].set_title("misclassified")
        axes[0, 2].set_ylim(0, 1.02)
        handles, names = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=4)
    return figure


def _counts(record: dict[str, Any]) -> dict[str, Any]:
    """The counts of the command's table, as shares where that means something."""
    row, asked = record["row"], int(np.sum(record["comparisons"]))
    return {
        "misclassified": row["fooled"] / row["images"],
        "comparisons": row["comparisons"],
        "forward_passes": row["forward_passes"],
        "ties": row["ties"] / asked if asked else None,
    }


def _row(label: str, record: dict[str, Any]) -> list[str]:
    c = _counts(record)

    def words(value: float | None, form: str) -> str:
        return "–" if value is None else format(value, form)

    return [
        label,
        record["row"]["sees"],
        f"{c['misclassified']:.0%}",
        words(c["comparisons"], ",.0f"),
        words(c["forward_passes"], ",.0f"),
        words(c["ties"], ".0%"),
    ]


def _bytes(images: Any) -> list[Any]:
    """Pixels as JSON: whole numbers 0..255, (n, height, width, channels)."""
    return (images.permute(0, 2, 3, 1) * 255).round().int().tolist()


def _pictures(by: dict[str, dict[str, Any]]) -> list[list[tuple[bytes, str]]]:
    any_record = next(iter(by.values()))
    shown = [label for label in SHOWN if label in by]
    rows = []
    for i, original in enumerate(any_record["originals"]):
        named = any_record["classes"]
        row = [(_jpeg(original), f"original: {named[any_record['labels'][i]]}")]
        row += [
            (_jpeg(by[label]["pictures"][i]), f"{label}: {named[by[label]['answers'][i]]}")
            for label in shown
        ]
        rows.append(row)
    return rows


def _jpeg(pixels: list[Any], size: int = 128) -> bytes:
    """An enlarged picture with its pixels visible."""
    from PIL import Image

    a = np.asarray(pixels, dtype=np.uint8)
    image = Image.fromarray(a if a.shape[2] == 3 else a[..., 0]).convert("RGB")
    stream = io.BytesIO()
    image.resize((size, size), Image.Resampling.NEAREST).save(stream, "JPEG", quality=90)
    return stream.getvalue()


ATTACK = Attack()
