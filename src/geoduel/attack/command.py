"""The command ``geoduel attack``: attack some images by several methods, and show what came out."""

from __future__ import annotations

import sys
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..errors import ArgumentError

if TYPE_CHECKING:
    from .data import Pictures
    from .result import AttackResult

__all__ = ["DIGITS", "attack_app", "prepared", "usual_eps"]

attack_app = typer.Typer(help="Fool an image classifier by comparisons alone.")

DIGITS = "digits"
"""Data with a network of its own, trained on the spot in seconds."""


EPS, DIGITS_EPS = 0.05, 0.3  # a digit is mostly black and its network sturdy: 0.05 fools none
LINF_EPS, DIGITS_LINF_EPS = 8 / 255, 0.2


def usual_eps(data: str, norm: str = "l2") -> float:
    """The ``eps`` that is taken for these data unless another is asked for."""
    if norm == "linf":
        return DIGITS_LINF_EPS if data == DIGITS else LINF_EPS
    return DIGITS_EPS if data == DIGITS else EPS


def prepared(
    data: str,
    weights: str | Path | None,
    n: int,
    among: tuple[int, int] | None = None,
    seed: int = 0,
    architecture: str = "vgg11",
) -> tuple[Any, Pictures]:
    """A network, and ``n`` pictures that it classifies right.

    They are taken in a random order, since files are often sorted by class.

    Parameters
    ----------
    data : str
        "digits", "cifar10", or a path; see `geoduel.attack.load_pictures`.
    weights : str or Path, optional
        Safetensors file of the network; by default the only one in the data's folder. The
        digits need none: a small network learns them first, seeded.
    n : int
        Most pictures.
    among : tuple of int, optional
        Numbers of the first picture to choose from and of the one after the last; by default all.
    seed : int
        Of the order, and of the network for digits.
    architecture : str
        What the weights are of, a name of `geoduel.attack.networks.NETWORKS`.

    Returns
    -------
    network : torch.nn.Module
        In eval mode.
    pictures : Pictures
        Labels -1 (unknown) are replaced by the network's answers.
    """
    from .data import load_pictures

    pictures = load_pictures(data)
    network = _network(data, weights, pictures, seed, architecture)
    from ._torch import torch

    numbers = range(len(pictures)) if among is None else range(len(pictures))[slice(*among)]
    order = torch.as_tensor(np.random.default_rng(seed).permutation(numbers))
    chosen, labels = [], pictures.labels.clone()
    with torch.no_grad():
        for part in order.split(100):
            answer = network(pictures.images[part]).argmax(1)
            labels[part] = torch.where(labels[part] < 0, answer, labels[part])
            chosen += part[answer == labels[part]].tolist()
            if len(chosen) >= n:
                break
    if not chosen:
        raise ArgumentError(
            f"data {data}: the network classifies none of the {len(numbers)} images right"
        )
    from .data import Pictures

    return network, Pictures(pictures.images, labels, pictures.classes).take(chosen[:n])


def _network(
    data: str, weights: str | Path | None, pictures: Pictures, seed: int, architecture: str
) -> Any:
    from .networks import load_weights, new

    if data == DIGITS and weights is None:
        return deepcopy(_digits_network(seed))
    if weights is None:
        found = sorted(Path(data).glob("*.safetensors")) if Path(data).is_dir() else []
        if len(found) != 1:
            raise ArgumentError(
                f"--weights: give the network's safetensors file ({len(found)} found in {data}); "
                "geoduel attack train makes one"
            )
        weights = found[0]
    shape, classes = tuple(pictures.images.shape[1:]), max(10, len(pictures.classes))
    return load_weights(new(architecture, shape, classes), weights)


@cache
def _digits_network(seed: int) -> Any:
    from ._torch import torch
    from .data import digits
    from .networks import small_cnn, train

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = small_cnn()
    return train(network, digits("train"), epochs=12, batch_size=64, augment=False, seed=seed)


# -- the command -----------------------------------------------------------------------------------

COMPARED = "auto,rdngd,evolution,zo-rgd,rgd,pgd"
STEPS = 50  # of the methods that see gradients
ARCHITECTURE = "Kind of network: vgg11 (for 32 x 32), strided, residual, mixer or small-vgg."


@attack_app.callback(invoke_without_command=True)
def attack_command(
    context: typer.Context,
    data: Annotated[
        str, typer.Option(help="digits, cifar10 (in data/), a folder or an .npz file.")
    ] = DIGITS,
    weights: Annotated[Path | None, typer.Option(help="Safetensors file of the network.")] = None,
    architecture: Annotated[str, typer.Option(help=ARCHITECTURE)] = "vgg11",
    n: Annotated[int, typer.Option(min=1, help="Images that the network classifies right.")] = 100,
    methods: Annotated[
        str | None,
        typer.Option(help=f"Methods, separated by commas; by default {COMPARED}."),
    ] = None,
    budget: Annotated[int, typer.Option(min=1, help="Comparisons an image.")] = 300,
    eps: Annotated[
        float | None,
        typer.Option(
            help=f"Radius over the image's norm; by default {EPS:g}, for digits {DIGITS_EPS:g}. "
            f"With linf over the range of pixels; by default 8/255, {DIGITS_LINF_EPS:g}."
        ),
    ] = None,
    norm: Annotated[str, typer.Option(help="What is bounded: l2 or linf.")] = "l2",
    smallest: Annotated[
        bool, typer.Option("--smallest", help="Look for the smallest perturbations.")
    ] = False,
    oracle: Annotated[
        str, typer.Option(help="What is compared: margin, loss, or by label alone.")
    ] = "margin",
    directions: Annotated[
        str | None,
        typer.Option(help="natural, low-frequency, all or fitted; by default the method's."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed.")] = 0,
    device: Annotated[
        str | None, typer.Option(help="cpu or cuda; by default what there is.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for the table, the figure, the pictures.")
    ] = Path("attack"),
) -> None:
    """Attack images by several methods: a table, the progress against queries, the pictures."""
    if context.invoked_subcommand is not None:
        return
    from ..plotting import require, save
    from .data import Pictures
    from .figures import picture_grid, progress_figure, table
    from .methods import named
    from .priors import PRIORS
    from .run import attack

    asked = COMPARED if methods is None else methods
    names = [m.strip() for m in asked.split(",") if m.strip()]
    if methods is None and oracle == "label":
        names = [m for m in names if named(m)[0].sees == "comparisons"]
    kinds = {m: named(m)[0].sees for m in names}
    if not names:
        raise ArgumentError(f"--methods must name at least one method, got {methods!r}")
    require()
    out.mkdir(parents=True, exist_ok=True)
    home = _device(device)
    network, pictures = prepared(data, weights, n, seed=seed, architecture=architecture)
    network.to(home)
    pictures = Pictures(pictures.images.to(home), pictures.labels.to(home), pictures.classes)
    # At equal forward passes: a comparison is two.
    limits = {"comparisons": budget, "scores": 2 * budget, "gradients": min(STEPS, budget)}
    if oracle == "label":
        limits["comparisons"] = 2 * budget
    results: dict[str, AttackResult] = {}
    for name in names:
        results[name] = attack(
            network,
            pictures.images,
            pictures.labels,
            eps=usual_eps(data, norm) if eps is None else eps,
            norm=norm,  # type: ignore[arg-type]
            smallest=smallest,
            method=name,
            budget=limits[kinds[name]],
            oracle=oracle,  # type: ignore[arg-type]
            directions=directions,
            rng=seed,
            progress=sys.stderr.isatty(),
        )
        if results[name].stop_reason == "interrupted":
            break
    rows = table(results)
    knows = {m: PRIORS[directions or named(m)[1]] for m in results}
    for r in rows:
        r["knows"] = knows[r["method"]]
    _print(rows)
    if len(names) == 1:
        print(results[names[0]].report())
    labelled = {f"{m}, knows {knows[m]}": r for m, r in results.items()}
    files = [*save(progress_figure(labelled, oracle), out / "progress")]
    files += save(picture_grid(pictures, results, network), out / "pictures")
    for path in (*files, *_write(rows, results, out, {"data": data, "n": n, "seed": seed})):
        print(path)
    if any(r.stop_reason == "interrupted" for r in results.values()):
        raise KeyboardInterrupt  # now that what there is has been written


@attack_app.command("train")
def train_command(
    data: Annotated[
        str, typer.Option(help="cifar10 (in data/), a folder with CIFAR-10, or digits.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="File for the weights; by default named after the network.")
    ] = None,
    architecture: Annotated[str, typer.Option(help=ARCHITECTURE)] = "vgg11",
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the pictures.")] = 45,
    batch_size: Annotated[int, typer.Option(min=1, help="Pictures a step.")] = 128,
    learning_rate: Annotated[float, typer.Option(help="Largest of the cycle.")] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Seed.")] = 0,
    device: Annotated[
        str | None, typer.Option(help="cpu or cuda; by default what there is.")
    ] = None,
) -> None:
    """Train a network on CIFAR-10 or on digits, and write its weights."""
    from ._torch import torch
    from .data import load_pictures
    from .networks import new, save_weights, train

    pictures = load_pictures(data, "train")
    torch.manual_seed(seed)
    network = new(architecture, pictures.images.shape[1:], max(10, len(pictures.classes)))
    train(
        network,
        pictures,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        augment=data != DIGITS,  # a digit's mirror image is none
        seed=seed,
        device=_device(device),
        callback=lambda epoch, loss: print(f"epoch {epoch + 1} of {epochs}: loss {loss:.4f}"),
    )
    print(save_weights(network, out or Path(f"{architecture}.safetensors")))
    try:
        test = load_pictures(data, "test")
    except ArgumentError:
        return
    home = next(network.parameters()).device
    with torch.no_grad():
        parts = zip(test.images.split(500), test.labels.split(500), strict=True)
        right = sum(int((network(x.to(home)).argmax(1).cpu() == y).sum()) for x, y in parts)
    print(f"{right / len(test):.1%} of {len(test)} test pictures")


def _device(name: str | None) -> str:
    from ._torch import torch
    from .images import as_device

    if name is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    return str(as_device(name, "--device"))


def _print(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    shown = Table(title="Medians are over the images fooled", title_justify="left")
    for name in ("method", "sees", "knows"):
        shown.add_column(name)
    for name in ("misclassified", "comparisons", "forward passes", "radius", "ties", "seconds"):
        shown.add_column(name, justify="right")
    for r in rows:
        counts = [
            "–" if r[c] is None else f"{r[c]:,.0f}" for c in ("comparisons", "forward_passes")
        ]
        counts.append("–" if r["radius"] is None else f"{r['radius']:.4g}")
        share = f"{r['fooled']} of {r['images']}"
        shown.add_row(
            r["method"], r["sees"], r["knows"], share, *counts, f"{r['ties']:,}", f"{r['seconds']}"
        )
    Console(width=None if sys.stdout.isatty() else 120).print(shown)


def _write(
    rows: list[dict[str, Any]], results: dict[str, AttackResult], out: Path, about: dict[str, Any]
) -> list[Path]:
    """Write the table as CSV, and counts of each image as JSON."""
    import csv
    import json

    tabled = out / "table.csv"
    with tabled.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    each = {
        label: {
            "success": r.success.tolist(),
            "comparisons": r.comparisons.tolist(),
            "forward_passes": r.forward_passes.tolist(),
            "radius": r.radius.tolist(),
            "radii": [u if u < float("inf") else None for u in r.radii.tolist()],
        }
        for label, r in results.items()
    }
    recorded = out / "images.json"
    recorded.write_text(json.dumps({**about, "results": each}), encoding="utf-8")
    return [tabled, recorded]
