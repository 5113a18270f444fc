"""How many comparisons, and forward passes, until a network is fooled; and how fast that goes.

    python benchmarks/attack.py [table] [--full] [--save] [--data DIR --weights FILE]
                                [--methods ...] [--n 150]
    python benchmarks/attack.py peers [--data DIR --weights FILE] [--passes 1000] [--n 50]
    python benchmarks/attack.py speed [--data DIR --weights FILE] [--miniature]

``table`` runs the package's methods on images that the network classifies right, and prints the
share misclassified after 30 to 3,000 comparisons. ``peers`` runs HopSkipJump, the boundary attack,
Sign-OPT and Square (Foolbox, ART), where they are installed, at equal forward passes and radius;
each is told no more than its kind may see. ``speed`` measures forward passes a second beside the
bare network's, in float32 and in bfloat16 with channels last: at most six minutes on a GPU, and in
miniature on a CPU. DIR and FILE are those of `geoduel attack`; without them, digits.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import argparse
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from _results import Results
from _results import parser as results_parser
from _timing import describe_machine

import numpy as np
import torch

from geoduel.errors import TiesWarning
from geoduel.attack import AttackProgress
from geoduel.attack import AttackResult
from geoduel.attack import Pictures
from geoduel.attack import attack
from geoduel.attack.command import prepared
from geoduel.attack.methods import named
from geoduel.attack.priors import PRIORS

MARKS = (30, 100, 300, 1_000, 3_000)
# Label: method, directions, share of --budget.
TABLE: dict[str, tuple[str, str | None, float]] = {
    "auto": ("auto", None, 1.0),
    "auto, all directions": ("auto", "all", 1.0),
    "averaging": ("averaging", None, 1.0),
    "averaging, low frequencies": ("averaging", "low-frequency", 1.0),
    "averaging, fitted": ("averaging", "fitted", 1.0),
    "auto, fitted": ("auto", "fitted", 1.0),
    "evolution": ("evolution", None, 1.0),
    "rdngd": ("rdngd", None, 1.0),
    "rdngd, low frequencies": ("rdngd", "low-frequency", 1.0),
    "rdngd, natural": ("rdngd", "natural", 1.0),
    "rdngd-released": ("rdngd-released", None, 1.0),
    "zo-rgd": ("zo-rgd", None, 5.0),
    "rgd": ("rgd", None, 0.1),
    "pgd": ("pgd", None, 0.1),
}


def main() -> None:
    arguments = parser().parse_args()
    arguments.n = arguments.n or (150 if arguments.full else 5)
    arguments.budget = arguments.budget or (3_000 if arguments.full else 300)
    torch.set_num_threads(arguments.threads)
    print(describe_machine())
    network, pictures = prepared(
        arguments.data,
        arguments.weights,
        arguments.n,
        among=arguments.among,
        architecture=arguments.architecture,
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network.to(device)
    pictures = Pictures(pictures.images.to(device), pictures.labels.to(device), pictures.classes)
    print(f"{len(pictures)} images that the network classifies right, {device}")
    {"table": table, "peers": peers, "speed": speed}[arguments.what](arguments, network, pictures)


def parser() -> argparse.ArgumentParser:
    p = results_parser(__doc__)
    p.add_argument("what", nargs="?", default="table", choices=("table", "peers", "speed"))
    p.add_argument("--data", default="digits")
    p.add_argument("--weights")
    p.add_argument("--architecture", default="vgg11", help="what the weights are of")
    p.add_argument("--n", type=int, help="images; by default 5, in full 150")
    p.add_argument("--among", type=int, nargs=2, help="numbers of the images to choose from")
    p.add_argument("--minutes", type=float, default=np.inf, help="most time for a method")
    p.add_argument("--eps", type=float, default=0.05)
    p.add_argument("--budget", type=int, help="comparisons an image; by default 300, in full 3,000")
    p.add_argument("--methods", nargs="*", choices=tuple(TABLE), help="lines of the table")
    p.add_argument("--oracle", choices=("margin", "loss"), default="margin")
    p.add_argument("--passes", type=int, default=1_000, help="forward passes an image, for peers")
    p.add_argument("--miniature", action="store_true", help="a few seconds, on any machine")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--label", default="digits", help="name of the rows in the saved results")
    return p


# -- the package's methods -------------------------------------------------------------------------


def table(arguments: argparse.Namespace, network: Any, pictures: Pictures) -> None:
    print(f"{'method':26s}" + "".join(f"{m:>8,}" for m in MARKS) + "   passes a fooled image, time")
    for label in arguments.methods or ("auto", "evolution", "rdngd", "rgd"):
        method, directions, share = TABLE[label]
        result = measured(
            network,
            pictures,
            method=method,
            directions=directions,
            budget=max(1, int(share * arguments.budget)),
            eps=arguments.eps,
            oracle=arguments.oracle,
            rng=arguments.seed,
            callback=every_minute(label, arguments.minutes),
        )
        print(row(label, result), flush=True)
        keep(arguments, label, result, pictures)


def measured(network: Any, pictures: Pictures, **settings: Any) -> AttackResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiesWarning)  # counted in the result
        return attack(network, pictures.images, pictures.labels, **settings)


def row(label: str, result: AttackResult) -> str:
    last = max(result.history.comparisons) if result.sees == "comparisons" else max(MARKS)
    last = last if not bool(result.success.all()) else max(MARKS)
    shares = [
        f"{result.success_after(m):8.3f}" if m <= max(last, MARKS[0]) else f"{'':8s}" for m in MARKS
    ]
    fooled = result.forward_passes[result.success].double()
    middle = float(fooled.median()) if len(fooled) else float("nan")
    return f"{label:26s}{''.join(shares)}   median {middle:.0f}, {result.seconds:.0f} s" + (
        "" if result.sees == "comparisons" else f" (columns: forward passes; sees {result.sees})"
    )


def every_minute(label: str, most: float) -> Callable[[AttackProgress], bool]:
    """Return a callback that says once a minute how far the attack is, and stops it in time."""
    said = [0.0]

    def say(p: AttackProgress) -> bool:
        if p.seconds - said[0] > 60:
            said[0] = p.seconds
            print(f"  {label}: {p.comparisons} comparisons, {p.done}/{p.images} done", flush=True)
        return p.seconds > 60 * most

    return say


def keep(
    arguments: argparse.Namespace, label: str, result: AttackResult, pictures: Pictures
) -> None:
    method, directions, _ = TABLE.get(label, TABLE["auto"])
    stopped = result.stop_reason == "callback" and result.sees == "comparisons"
    reached = max(result.history.comparisons) if stopped else arguments.budget
    marks = [m for m in MARKS if m <= reached]
    settings = {"seed": arguments.seed, "eps": arguments.eps, "oracle": arguments.oracle}
    Results(__file__, arguments.save, n=len(pictures), **settings).add(
        f"{arguments.label} {label}",
        sees=result.sees,
        knows=PRIORS[directions or named(method)[1]],
        budget=reached,
        marks=marks,
        success=[result.success_after(m) for m in marks],
        fooled_after=sorted(result.comparisons[result.success].tolist()),
    )


# -- attacks of other packages ---------------------------------------------------------------------


class Spent(Exception):
    """The forward passes are used up."""


class Watched(torch.nn.Module):
    """A network that counts its passes, and notes the first that fools it within the radius."""

    def __init__(self, network: Any, image: torch.Tensor, label: int, radius: float, most: int):
        super().__init__()
        self.network, self.image, self.label = network, image, label
        self.radius, self.most = radius, most
        self.passes, self.fooled_at = 0, None

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        left = self.most - self.passes
        logits = self.network(images)
        near = (images - self.image).flatten(1).norm(dim=1) <= self.radius * (1 + 1e-5)
        hit = near & (logits.argmax(1) != self.label)
        hit[left:] = False
        if self.fooled_at is None and bool(hit.any()):
            self.fooled_at = self.passes + int(hit.to(torch.int8).argmax()) + 1
        self.passes += len(images)
        if self.fooled_at is not None or self.passes >= self.most:
            raise Spent
        return logits


def hop_skip_jump(watched: Watched) -> None:
    foolbox_attack("HopSkipJumpAttack", watched, steps=10_000)


def boundary(watched: Watched) -> None:
    foolbox_attack("BoundaryAttack", watched, steps=100_000)


def foolbox_attack(name: str, watched: Watched, **settings: Any) -> None:
    foolbox = import_module("foolbox")
    model = foolbox.PyTorchModel(watched, bounds=(0, 1), device=watched.image.device)
    label = torch.tensor([watched.label], device=watched.image.device)
    getattr(foolbox.attacks, name)(**settings)(model, watched.image[None], label, epsilons=None)


def sign_opt(watched: Watched) -> None:
    kind = import_module("art.attacks.evasion").SignOPTAttack
    made = kind(
        art_classifier(watched), targeted=False, query_limit=10 * watched.most, max_iter=10_000
    )
    made.generate(watched.image[None].cpu().numpy(), np.array([watched.label]))


def square(watched: Watched) -> None:
    kind = import_module("art.attacks.evasion").SquareAttack
    made = kind(
        art_classifier(watched), norm=2, eps=watched.radius, max_iter=watched.most, verbose=False
    )
    made.generate(watched.image[None].cpu().numpy(), np.array([watched.label]))


def art_classifier(watched: Watched) -> Any:
    return import_module("art.estimators.classification").PyTorchClassifier(
        model=watched,
        loss=torch.nn.CrossEntropyLoss(),
        input_shape=tuple(watched.image.shape),
        nb_classes=10,
        clip_values=(0.0, 1.0),
    )


PEERS: dict[str, tuple[str, str, Callable[[Watched], None]]] = {
    "HopSkipJump": ("foolbox", "labels", hop_skip_jump),
    "boundary attack": ("foolbox", "labels", boundary),
    "Sign-OPT": ("art", "labels", sign_opt),
    "Square": ("art", "scores", square),
}


def peers(arguments: argparse.Namespace, network: Any, pictures: Pictures) -> None:
    """Equal forward passes and radius for all; two are one comparison."""
    marks = [m for m in (60, 200, 600, 1_000, 2_000, 6_000) if m <= arguments.passes]
    print(f"{'attack':18s}{'sees':>12s}" + "".join(f"{m:>7,}" for m in marks) + "   passes")
    for label, method in (("auto", "auto"), ("evolution", "evolution")):
        result = measured(
            network,
            pictures,
            method=method,
            budget=arguments.passes // (2 if method == "auto" else 1),
            eps=arguments.eps,
            rng=arguments.seed,
        )
        shares = [
            float((result.success & (result.forward_passes <= m)).float().mean()) for m in marks
        ]
        print_peer(f"geoduel {label}", "comparisons", shares, result.seconds)
    for label, (package, sees, run) in PEERS.items():
        if find_spec(package) is None:
            print(f"{label:18s} {package} is not installed")
            continue
        began, fooled_at = time.perf_counter(), []
        for image, answer in zip(pictures.images, pictures.labels.tolist(), strict=True):
            radius = arguments.eps * float(image.norm())
            watched = Watched(network, image, answer, radius, arguments.passes).eval()
            np.random.seed(arguments.seed)  # noqa: NPY002 - what ART draws from
            torch.manual_seed(arguments.seed)
            with warnings.catch_warnings(), torch.no_grad(), suppress(Spent):
                warnings.simplefilter("ignore")
                run(watched)
            fooled_at.append(watched.fooled_at or np.inf)
        shares = [float(np.mean(np.array(fooled_at) <= m)) for m in marks]
        print_peer(label, sees, shares, time.perf_counter() - began)


def print_peer(label: str, sees: str, shares: list[float], seconds: float) -> None:
    row = "".join(f"{share:7.2f}" for share in shares)
    print(f"{label:18s}{sees:>12s}{row}   {seconds:.0f} s", flush=True)


# -- speed -----------------------------------------------------------------------------------------


def speed(arguments: argparse.Namespace, network: Any, pictures: Pictures) -> None:
    """Forward passes a second: the bare network, and the attack around it, at equal batches."""
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    few = arguments.miniature
    n, seconds, budget = (16, 1.0, 20) if few else (500, 8.0, 3_000)
    pictures = pictures.take(torch.arange(n) % len(pictures))
    batch = 2 * n
    rates = {}
    for dtype in (None, torch.bfloat16):
        name = "float32" if dtype is None else "bfloat16"
        bare = bare_rate(network, pictures, dtype, seconds)
        ours = attack_rate(network, pictures, dtype, seconds, batch)
        rates[name] = ours
        print(
            f"{name}: bare network {bare:,.0f} passes a second at batch {batch}, attack "
            f"{ours:,.0f} ({ours / bare:.1%})",
            flush=True,
        )
    print(f"bfloat16 over float32: {rates['bfloat16'] / rates['float32']:.2f} times")
    for name, dtype in (("float32", None), ("bfloat16", torch.bfloat16)):
        result = measured(
            network,
            pictures,
            method="auto",
            budget=budget,
            eps=arguments.eps,
            rng=arguments.seed,
            batch_size=batch,
            dtype=dtype,
        )
        print(row(f"auto, {name}", result) + f", {result.ties} ties", flush=True)
        keep(arguments, f"speed {name}", result, pictures)


def bare_rate(network: Any, pictures: Pictures, dtype: Any, seconds: float) -> float:
    from copy import deepcopy

    images = pictures.images.repeat(2, 1, 1, 1).contiguous(memory_format=torch.channels_last)
    if dtype is not None:
        network = deepcopy(network).to(dtype=dtype, memory_format=torch.channels_last)
        images = images.to(dtype)
    with torch.no_grad():

        def once() -> None:
            for _ in range(3):
                network(images)
            finish(images)

        once()
        began, passes = time.perf_counter(), 0
        while time.perf_counter() - began < seconds:
            once()
            passes += 3 * len(images)
    return passes / (time.perf_counter() - began)


def attack_rate(network: Any, pictures: Pictures, dtype: Any, seconds: float, batch: int) -> float:
    """With a radius that fools nothing, so that no image is dropped."""
    marks: list[tuple[float, int]] = []

    def clock(p: AttackProgress) -> bool:
        marks.append((p.seconds, p.comparisons))
        return p.seconds > seconds + marks[0][0]

    measured(
        network,
        pictures,
        method="auto",
        budget=10**6,
        radius=1e-2,
        rng=0,
        batch_size=batch,
        dtype=dtype,
        callback=clock,
    )
    (t0, k0), (t1, k1) = marks[0], marks[-1]
    return 2 * len(pictures) * (k1 - k0) / max(1e-9, t1 - t0)


def finish(images: torch.Tensor) -> None:
    if images.is_cuda:
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
