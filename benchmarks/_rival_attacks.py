"""Attacks of others, each told no more than its kind may see, until a number of queries is spent.

`Watched` is the network they ask: it counts, notes how near the adversarial images are that went
through it, and stops the attack when its queries are used up. So it does not matter what an attack
believes to have found. HopSkipJump is Foolbox's, and GeoDA, Sign-OPT and Square are those of the
Adversarial Robustness Toolbox, with default settings, where these packages are installed. SurFree,
CGBA, the Triangle attack and RayS are in no package: they are written here from their papers, in
the least lines that do what these say.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from contextlib import chdir, suppress
from importlib import import_module
from typing import Any

import numpy as np
import torch

__all__ = ["RIVALS", "Watched", "run_rival"]

# GeoDA leaves a table in the folder it is run in, and reads it the next time.
SCRATCH = tempfile.TemporaryDirectory(prefix="geoduel-rivals-")


class Spent(Exception):
    """The queries are used up."""


class Watched(torch.nn.Module):
    """A network that counts its passes about one image, and notes what fools it.

    Attributes
    ----------
    passes : int
        Images asked about.
    l2, linf : list of float
        Least distance of an adversarial image after each of them, infinite before the first.
    """

    def __init__(self, network: Any, image: torch.Tensor, label: int, most: int) -> None:
        super().__init__()
        self.network, self.image, self.label, self.most = network, image, label, most
        self.passes, self.l2, self.linf = 0, [math.inf], [math.inf]

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        images = images[: self.most - self.passes]
        logits = self.network(images.float())
        change = (images - self.image).flatten(1)
        fools = logits.argmax(1) != self.label
        for norm, order in ((self.l2, 2.0), (self.linf, math.inf)):
            size = torch.linalg.vector_norm(change, order, dim=1)
            for length in torch.where(fools, size, torch.inf).tolist():
                norm.append(min(norm[-1], length))
        self.passes += len(images)
        if self.passes >= self.most:
            raise Spent
        return logits

    def fools(self, image: torch.Tensor) -> bool:
        """One label."""
        return int(self(image[None].clamp(0, 1))[0].argmax()) != self.label


def run_rival(name: str, watched: Watched, eps: float, seed: int = 0) -> None:
    """Run an attack until its queries are spent; ``eps`` is for those that need a radius."""
    np.random.seed(seed)  # noqa: NPY002 - what ART draws from
    torch.manual_seed(seed)
    with torch.no_grad(), suppress(Spent), chdir(SCRATCH.name):
        RIVALS[name][3](watched, eps)


# -- of other packages -----------------------------------------------------------------------------


def hop_skip_jump(norm: str) -> Callable[[Watched, float], None]:
    def run(watched: Watched, eps: float) -> None:
        foolbox = import_module("foolbox")
        model = foolbox.PyTorchModel(watched, bounds=(0, 1), device=watched.image.device)
        label = torch.tensor([watched.label], device=watched.image.device)
        made = foolbox.attacks.HopSkipJumpAttack(steps=10_000, constraint=norm)
        made(model, watched.image[None], label, epsilons=None)

    return run


def of_art(name: str, **settings: Any) -> Callable[[Watched, float], None]:
    def run(watched: Watched, eps: float) -> None:
        np.asmatrix = np.asmatrix  # type: ignore[attr-defined] - GeoDA's name of it, gone since NumPy 2
        classifier = import_module("art.estimators.classification").PyTorchClassifier(
            model=watched,
            loss=torch.nn.CrossEntropyLoss(),
            input_shape=tuple(watched.image.shape),
            nb_classes=10,
            clip_values=(0.0, 1.0),
            device_type="cpu",
        )
        if name == "SquareAttack":
            settings["eps"] = eps
        made = getattr(import_module("art.attacks.evasion"), name)(
            classifier, **{"max_iter": watched.most, "verbose": False} | settings
        )
        made.generate(watched.image[None].cpu().numpy(), np.eye(10)[[watched.label]])

    return run


# -- written from their papers ---------------------------------------------------------------------


def noise(like: torch.Tensor, q: int | None = None) -> torch.Tensor:
    """A Gaussian image, of its lowest q x q cosines only if asked for."""
    if q is None:
        return torch.randn_like(like)
    height, width = like.shape[-2:]
    down, across = (
        torch.cos(math.pi / n * torch.arange(min(q, n))[:, None] * (torch.arange(n) + 0.5))
        for n in (height, width)
    )
    return down.T @ torch.randn(len(like), len(down), len(across)) @ across


def unit(v: torch.Tensor) -> torch.Tensor:
    return v / v.norm().clamp_min(1e-12)


def across(v: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """The part of v at a right angle to the unit vector u, of length one."""
    return unit(v - (v * u).sum() * u)


def bisected(fools: Callable[[float], bool], good: float, bad: float, rounds: int = 8) -> float:
    """A number near the boundary at which the image still fools."""
    for _ in range(rounds):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if fools(middle) else (good, middle)
    return good


def at_boundary(watched: Watched) -> torch.Tensor:
    """An adversarial image between x and uniform noise, near the boundary."""
    x = watched.image
    start = torch.rand_like(x)
    while not watched.fools(start):
        start = torch.rand_like(x)
    share = bisected(lambda t: watched.fools(x + t * (start - x)), 1.0, 0.0)
    return x + share * (start - x)


def circle(x: torch.Tensor, far: torch.Tensor, v: torch.Tensor) -> Callable[[float], torch.Tensor]:
    """Half a circle through x and an image: at angle t to it, towards v, at d cos t from x."""
    d, u = float((far - x).norm()), unit(far - x)
    v = across(v, u)
    return lambda t: x + d * math.cos(t) * (math.cos(t) * u + math.sin(t) * v)


def surfree(watched: Watched, eps: float) -> None:
    """Maho, Furon and Le Merrer, SurFree, CVPR 2021: random half circles, without a gradient."""
    x, best = watched.image, at_boundary(watched)
    widest = 0.5 * math.pi
    while True:
        way = circle(x, best, noise(x, max(4, x.shape[-1] // 2)))
        for t in (widest, -widest, widest / 2, -widest / 2, widest / 4, -widest / 4):
            if watched.fools(way(0.5 * t)):
                wide = bisected(lambda s, w=way: watched.fools(w(s)), 0.5 * t, t, 4)
                best = way(wide).clamp(0, 1)
                break
        else:
            widest = max(0.9 * widest, 0.02)
            continue
        widest = min(1.1 * widest, 0.5 * math.pi)


def cgba(watched: Watched, eps: float) -> None:
    """Reza, Rahmati, Wu and Dai, CGBA, ICCV 2023: half circles along an estimated normal."""
    x, best, step = watched.image, at_boundary(watched), 0
    q = max(4, x.shape[-1] // 4)
    while True:
        step += 1
        normal = torch.zeros_like(x)
        for _ in range(int(30 * math.sqrt(step))):
            z = unit(noise(x, q))
            probe = best + 0.02 * math.sqrt(x[0].numel() / 1024) * z
            normal += z if watched.fools(probe) else -z
        way = circle(x, best, normal)
        angle = 0.5 * math.pi
        while angle > 1e-3 and not watched.fools(way(angle)):
            angle /= 2
        angle = bisected(lambda s, w=way: watched.fools(w(s)), angle, 2 * angle, 5)
        best = way(angle).clamp(0, 1)


def triangle(watched: Watched, eps: float) -> None:
    """Wang et al., Triangle attack, ECCV 2022: the law of sines in planes of low frequencies."""
    x, best = watched.image, at_boundary(watched)
    alpha = 0.5 * math.pi  # the angle at the new image; β is that at x

    def fooled(beta: float, v: torch.Tensor) -> torch.Tensor | None:
        """The third corner, on either side, if it fools."""
        d, u = float((best - x).norm()), unit(best - x)
        side = d * math.sin(alpha + beta) / math.sin(alpha)
        for sign in (1, -1):
            image = x + side * (math.cos(beta) * u + sign * math.sin(beta) * across(v, u))
            if watched.fools(image):
                return image.clamp(0, 1)
        return None

    while True:
        v = noise(x, max(4, x.shape[-1] // 4))
        narrow, wide = max(math.pi - 2 * alpha, math.pi / 16), min(math.pi - alpha, 0.5 * math.pi)
        found = fooled(narrow, v)
        alpha += 0.01 if found is not None else -0.0005
        alpha = min(max(alpha, 0.5 * math.pi - 0.1), 0.5 * math.pi + 0.1)
        for _ in range(2 if found is not None else 0):
            middle = 0.5 * (narrow + wide)
            nearer = fooled(middle, v)
            narrow, wide = (narrow, middle) if nearer is None else (middle, wide)
            found = found if nearer is None else nearer
        best = best if found is None else found


def rays(watched: Watched, eps: float) -> None:
    """Chen and Gu, RayS, KDD 2020: signs of blocks, flipped while that brings the boundary near."""
    x = watched.image
    signs, radius, level = torch.ones(x.numel()), math.inf, 0

    def nearer(d: torch.Tensor, radius: float) -> float:
        """The radius along d if it is less, otherwise the same."""
        image = d.reshape(x.shape)
        if not watched.fools(x + min(radius, 1.0) * image):
            return radius
        return bisected(lambda r: watched.fools(x + r * image), min(radius, 1.0), 0.0)

    radius = nearer(signs, radius)
    while True:
        for block in torch.arange(x.numel()).tensor_split(2**level):
            trial = signs.clone()
            trial[block] *= -1
            found = nearer(trial, radius)
            if found < radius:
                signs, radius = trial, found
        level = level + 1 if 2 ** (level + 1) <= x.numel() else 0


ENDLESS = {"targeted": False, "query_limit": 10**6, "max_iter": 10**4}
# Name: package, what it sees, norm that it makes small, how it runs.
RIVALS: dict[str, tuple[str | None, str, str, Callable[[Watched, float], None]]] = {
    "HopSkipJump": ("foolbox", "labels", "l2", hop_skip_jump("l2")),
    "GeoDA": ("art", "labels", "l2", of_art("GeoDA", norm=2, sub_dim=8)),
    "Sign-OPT": (
        "art",
        "labels",
        "l2",
        of_art("SignOPTAttack", **ENDLESS),
    ),
    "SurFree": (None, "labels", "l2", surfree),
    "CGBA": (None, "labels", "l2", cgba),
    "Triangle": (None, "labels", "l2", triangle),
    "HopSkipJump, L∞": ("foolbox", "labels", "linf", hop_skip_jump("linf")),
    "RayS": (None, "labels", "linf", rays),
    "Square": ("art", "scores", "l2", of_art("SquareAttack", norm=2)),
    "Square, L∞": ("art", "scores", "linf", of_art("SquareAttack", norm=np.inf)),
}
