"""How small the perturbations are that attacks find, at equal queries.

    python benchmarks/attack_rivals.py [--full] [--save] [--cifar DIR] [--n 20] [--queries 1000]
                                       [--attacks ...]

Every attack looks for the smallest perturbation of each image that fools the network. Printed are
the medians over the images after 100 to 1,000 queries, in the norm that the attack makes small, and
the share of images fooled within a radius. A query is one image through the network, whatever is
seen of it: its label, or margins of which two are compared. The attacks of Foolbox and the
Adversarial Robustness Toolbox take part where these are installed. Square, which sees scores, has a
fixed radius. DIR holds CIFAR-10 and the weights of a VGG-11, as for `geoduel attack`; without it,
digits. A targeted attack is for the next class, and may begin at its first picture. Rows that were
saved before stay; --attacks names those to measure.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import argparse
import logging
import math
import time
import warnings
from importlib.util import find_spec
from statistics import median
from typing import Any

from _results import Results
from _results import parser as results_parser
from _timing import describe_machine
from _rival_attacks import RIVALS, Watched, run_rival

import torch

from geoduel.attack import Pictures
from geoduel.attack import attack
from geoduel.attack import load_pictures
from geoduel.attack.command import prepared

MARKS = (100, 300, 1_000)
LOW = {"oracle": "label", "directions": "low-frequency"}
FROM_A_START = {"oracle": "label", "targeted": True, "start": True}
# Label: what is seen, the norm, settings. Two passes are a comparison.
OWN: dict[str, tuple[str, str, dict[str, Any]]] = {
    "geoduel": ("labels", "l2", {"oracle": "label"}),
    "geoduel, low frequencies": ("labels", "l2", LOW),
    "geoduel, evolution": ("labels", "l2", {"oracle": "label", "method": "evolution"}),
    "geoduel, margins": ("comparisons", "l2", {}),
    "geoduel, margins, targeted": ("comparisons", "l2", {"targeted": True}),
    "geoduel, targeted from a start": ("labels", "l2", FROM_A_START),
    "geoduel, evolution, targeted from a start": (
        "labels",
        "l2",
        FROM_A_START | {"method": "evolution"},
    ),
    "geoduel, L∞": ("labels", "linf", {"oracle": "label"}),
    "geoduel, L∞, margins": ("comparisons", "linf", {}),
}
# Radii within which images count as fooled: of the norm of the image; of the range of pixels.
NEAR = {"digits": {"l2": 0.3, "linf": 0.2}, "CIFAR-10": {"l2": 0.05, "linf": 8 / 255}}


def main() -> None:
    arguments = parser().parse_args()
    arguments.n = arguments.n or (20 if arguments.full else 2)
    arguments.queries = arguments.queries or (1_000 if arguments.full else 100)
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    print(describe_machine())
    network, pictures = prepared(arguments.cifar or "digits", None, arguments.n)
    data = "CIFAR-10" if arguments.cifar else "digits"
    print(f"{data}, {len(pictures)} images that the network classifies right")
    for label in arguments.attacks or (*OWN, *RIVALS):
        package = None if label in OWN else RIVALS[label][0]
        if package is not None and find_spec(package) is None:
            print(f"{label:26s}{package} is not installed")
            continue
        sees, norm = OWN[label][:2] if label in OWN else RIVALS[label][1:3]
        share = NEAR[data][norm]
        sizes = pictures.images.flatten(1).norm(dim=1) if norm == "l2" else torch.ones(arguments.n)
        radius = share * sizes[: len(pictures)]
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            measure = own if label in OWN else of_others
            found = measure(label, network, pictures, radius, arguments)
        marks = [m for m in MARKS if m <= arguments.queries]
        medians = [median(found[m]) for m in marks]
        within = [torch.tensor(found[m]) <= radius * (1 + 1e-5) for m in marks]
        shares = [float(near.double().mean()) for near in within]
        seconds = time.perf_counter() - began
        words = "".join(f"{m:9.3f}" for m in medians) + " |" + "".join(f"{s:6.2f}" for s in shares)
        print(f"{label:26s}{sees:12s}{norm:6s}{words}   {seconds:.0f} s", flush=True)
        Results(__file__, arguments.save, n=len(pictures), seed=0, near=share).add(
            f"{data}, {label}",
            sees=sees,
            norm=norm,
            marks=marks,
            median=[None if "Square" in label else m for m in medians],  # of a fixed radius
            within=shares,
        )


def parser() -> argparse.ArgumentParser:
    p = results_parser(__doc__)
    p.add_argument("--cifar", metavar="DIR")
    p.add_argument("--n", type=int, help="images; by default 2, in full 20")
    p.add_argument("--queries", type=int, help="about each image; by default 100, in full 1,000")
    p.add_argument("--attacks", nargs="*", choices=(*OWN, *RIVALS), metavar="NAME")
    return p


def own(
    label: str, network: Any, pictures: Pictures, radius: torch.Tensor, arguments: Any
) -> dict[int, list[float]]:
    """Smallest perturbations after so many queries, of each image, by this package."""
    sees, norm, settings = OWN[label]
    labels = pictures.labels
    goal: dict[str, Any] = {"labels": labels}
    if "targeted" in settings:
        goal = {"targeted": (labels + 1) % 10}
    if "start" in settings:
        goal["start"] = of_classes(goal["targeted"], network, arguments.cifar or "digits")
    result = attack(
        network,
        pictures.images,
        radius=radius,
        norm=norm,  # type: ignore[arg-type]
        smallest=True,
        budget=arguments.queries // (2 if sees == "comparisons" else 1),
        rng=0,
        **settings | goal,
    )
    return {m: result.radii_after(m).tolist() for m in MARKS}


def of_classes(classes: torch.Tensor, network: Any, data: str) -> torch.Tensor:
    """The first picture of each class that the network classifies right."""
    pictures = load_pictures(data)
    found = []
    for c in classes.tolist():
        some = pictures.images[pictures.labels == c]
        with torch.no_grad():
            right = next(x for x in some if int(network(x[None]).argmax()) == c)
        found.append(right)
    return torch.stack(found)


def of_others(
    label: str, network: Any, pictures: Pictures, radius: torch.Tensor, arguments: Any
) -> dict[int, list[float]]:
    """The same by an attack of others, image by image."""
    found: dict[int, list[float]] = {m: [] for m in MARKS}
    for image, answer, near in zip(
        pictures.images, pictures.labels.tolist(), radius.tolist(), strict=True
    ):
        watched = Watched(network, image, answer, arguments.queries).eval()
        run_rival(label, watched, near)
        least = watched.l2 if RIVALS[label][2] == "l2" else watched.linf
        for m in MARKS:
            found[m].append(least[min(m, len(least) - 1)] if least else math.inf)
    return found


if __name__ == "__main__":
    main()
