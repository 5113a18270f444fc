"""Attack on a network: figures 4 and 9 to 11, with the attacks as published and as repaired.

It needs torch. ``Plan.attack_data`` is a folder with pictures (CIFAR-10 in a form that
`geoduel.attack.load_pictures` reads) and one ``.safetensors`` file of a VGG-11. Without it the
attacked pictures are scikit-learn's digits, and a small network learns them first. They are not the
paper's data, so no claim is judged by them. A task is one method on one image.
"""

from __future__ import annotations

import io
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from ...attack.command import DIGITS, prepared, usual_eps
from ...errors import TiesWarning
from ...plotting import COLOURS, panels
from ..claims import Claim, above, at_least, below, between
from ..estimates import Estimate, exact, median, number, share
from ..experiment import Experiment, Outcome, Plan, Task
from ..report import Figure, Gallery, Part, Section, Table

__all__ = ["ATTACK", "Attack", "attack_claims", "by_label", "falls", "over", "setback"]

T = 1000  # the paper's iterations, of ten duels each
SCORED = 40  # ZO-RGD's, of 501 passes each: together as many passes as RDNGD's duels
MISLED = 100  # with false answers
IMAGES, QUICK_IMAGES = 5, 2
QUICK = 30  # iterations after which a quick run ends, even on its walk to the sphere
WIDE = 0.1  # of the radius: probes that single precision resolves
DRAWS = {"duels": 50, "values": 2}  # estimates of a direction whose accuracy is measured
QUICK_DRAWS = {"duels": 5, "values": 1}


@dataclass(frozen=True)
class Line:
    """One method of the figure.

    Attributes
    ----------
    label : str
        As in the legend.
    method : str
        Of `geoduel.attack.published.PUBLISHED`, or of `geoduel.attack.attack`.
    iterations, each : int
        Most iterations (of the published, those on the sphere), and questions of an iteration.
    published : bool
        Which of the two it is.
    control : str
        False answers to the duels, one of `LIES`, or none.
    """

    label: str
    method: str
    iterations: int
    each: int = 1
    published: bool = True
    control: str = ""


def _coin(seed: int) -> Callable[[Any], Any]:
    rng = np.random.default_rng([seed, 1])
    return lambda s: s.new_tensor(rng.choice((-1.0, 1.0), len(s)))


LIES: dict[str, Callable[[int], Callable[[Any], Any]]] = {
    "reversed": lambda seed: lambda s: -s,
    "constant": lambda seed: lambda s: -abs(s),
    "coin": _coin,
}
"""Oracles with which no method may get anywhere."""

LINES = {
    line.label: line
    for line in (
        Line("PGD", "pgd", 150),
        Line("RGD", "rgd", 150),
        Line("ZO-RGD", "zo-rgd", SCORED, 501),
        Line("RDNGD, text", "rdngd-text", T, 10),
        Line("RDNGD, code", "rdngd-released", T, 10),
        *(Line(f"RDNGD, code, {lie}", "rdngd-released", MISLED, 10, control=lie) for lie in LIES),
        Line("PGD, repaired", "pgd", 100, published=False),
        Line("RGD, repaired", "rgd", 100, published=False),
        Line("ZO-RGD, repaired", "zo-rgd-paper", SCORED, 501, published=False),
        Line("RDNGD, repaired", "rdngd", T, 10, published=False),
        Line("default method", "auto", 10 * T, published=False),
    )
}
DIRECTIONS = "directions"  # the task that measures how accurate a direction is


class Attack(Experiment):
    """See the module."""

    name = "attack"
    title = "Attack on a deep neural network"
    version = 3

    def tasks(self, plan: Plan) -> list[Task]:
        if find_spec("torch") is None:
            return []
        data = DIGITS if plan.attack_data is None else str(plan.attack_data.resolve())
        images = QUICK_IMAGES if plan.quick else IMAGES
        share = 10 if plan.quick else 1
        common = {"data": data, "images": images, "eps": usual_eps(data)}
        tasks = []
        for image in range(images):
            for line in sorted(LINES.values(), key=lambda line: -line.iterations * line.each):
                settings = {**asdict(line), "iterations": -(-line.iterations // share)}
                if plan.quick:
                    settings["most"] = QUICK
                tasks.append(
                    Task(f"attack: {line.label}", {**settings, **common, "image": image}, image)
                )
            draws = QUICK_DRAWS if plan.quick else DRAWS
            settings = {"label": DIRECTIONS, "draws": draws, **common, "image": image}
            tasks.append(Task(f"attack: {DIRECTIONS}", settings, image))
        return tasks

    def run(self, settings: dict[str, Any]) -> dict[str, Any]:
        import torch

        torch.set_num_threads(1)  # tasks run side by side
        network, pictures = _prepared(settings["data"], settings["images"])
        picture = pictures.take([settings["image"]])
        with torch.no_grad():
            if settings["label"] == DIRECTIONS:
                return _accuracy(network, picture, settings)
            found = _published if settings["published"] else _repaired
            record = found(network, picture, settings)
            return {**record, "classes": list(picture.classes), "label": int(picture.labels[0])}

    def section(self, plan: Plan, outcomes: Sequence[Outcome]) -> Section:
        if not outcomes:
            return Section(
                self.name, self.title, ["Not run: it needs torch (pip install 'geoduel[attack]')."]
            )
        found, directions, images = by_label(outcomes)
        if not images:
            text = "No image has been attacked by every method yet."
            return Section(self.name, self.title, [text])
        from ...attack.data import CIFAR10_CLASSES

        settings = outcomes[0].task.settings
        theirs = found["PGD"][0]["classes"] == list(CIFAR10_CLASSES)
        judged = theirs and not plan.quick
        parts: list[Part] = [
            f"Perturbations on the sphere of radius {settings['eps']:g}·|x| around {len(images)} "
            "images that the network classifies right, the same for all methods. They maximise "
            "the network's loss, and an attack ends when the network's answer changes. PGD and "
            "RGD see gradients, ZO-RGD sees values, the others compare pairs of images.",
            PUBLISHED_TEXT,
            *([] if judged else [_not_theirs(settings["data"], plan.quick)]),
            Figure("attack-images", _image_curves(found), IMAGE_CAPTION),
            Figure("attack-means", _mean_curves(found), MEAN_CAPTION),
            _table(found),
            Gallery(_pictures(found), "Originals, and what the methods made of them."),
        ]
        rows = [_row(self.name, label, records) for label, records in found.items()]
        claims = attack_claims(found, directions) if judged else []
        return Section(self.name, self.title, parts, claims=claims, rows=rows)


@cache
def _prepared(data: str, images: int) -> Any:
    """The network and the pictures, once for all tasks of a process."""
    import torch

    network, pictures = prepared(data, None, images)
    return network.to(memory_format=torch.channels_last), pictures


def _published(network: Any, picture: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Run one of the attacks as their authors ran them."""
    from ...attack.published import PUBLISHED, Victim

    seed, lie = settings["image"], settings["control"]
    method, sees, _ = PUBLISHED[settings["method"]]
    answer = LIES[lie](seed) if lie else None
    victim = Victim(network, picture.images, int(picture.labels[0]), settings["eps"], answer)
    began = time.process_time()
    loss, passes, seconds, looks, outwards = [], [], [], [], 0
    for look in method(victim, np.random.default_rng(seed)):
        looks = [*looks[:1], look]  # the first and the last
        loss.append(look.loss)
        passes.append(victim.passes)
        seconds.append(time.process_time() - began)
        outwards += look.outwards
        on_sphere = len(loss) - outwards
        done = on_sphere > settings["iterations"] or len(loss) > settings.get("most", math.inf)
        if done or (on_sphere and look.fooled):
            break
    first, last = looks[0], looks[-1]
    return {
        "sees": sees,
        "iteration": list(range(len(loss))),
        "loss": loss,
        "passes": passes,
        "seconds": [round(s, 4) for s in seconds],
        "outwards": outwards,
        "fooled": last.fooled and not last.outwards,
        "duels": victim.duels,
        "ties": victim.ties,
        "moved": float((last.image - first.image).norm()),
        **_seen(network, picture.images, last.image),
    }


def _repaired(network: Any, picture: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Run one of the package's own."""
    from ...attack import attack

    cpu = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiesWarning)  # counted
        result = attack(
            network,
            picture.images,
            picture.labels,
            method=settings["method"],
            budget=settings["iterations"] * settings["each"],
            eps=settings["eps"],
            oracle="loss",
            rng=settings["image"],
        )
    h = result.history
    # The history has the time on the clock; this much of it the processor worked here.
    worked = (time.process_time() - cpu) / result.seconds
    return {
        "sees": result.sees,
        "iteration": h.iteration,
        "loss": h.score,
        "passes": h.forward_passes,
        "seconds": [round(worked * s, 4) for s in h.seconds],
        "outwards": 0,
        "fooled": bool(result.success[0]),
        "duels": int(result.comparisons[0]),
        "ties": result.ties,
        "moved": None,
        **_seen(network, picture.images, result.images),
    }


def _seen(network: Any, before: Any, after: Any) -> dict[str, Any]:
    """What the network and the eye make of the result."""
    change = (after - before).double()
    return {
        "answer": int(network(after).argmax(1)),
        "size": float(change.norm() / before.double().norm()),
        "psnr": -10 * math.log10(max(1e-30, float((change**2).mean()))),
        "outside": float(((after < 0) | (after > 1)).double().mean()),
        "original": _bytes(before),
        "picture": _bytes(after),
    }


def _accuracy(network: Any, picture: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Mean cosine between the gradient and its estimates, at a random point of the sphere."""
    from ...attack.published import Victim, slope_by_duels, slope_by_values, tangent

    seed, draws = settings["image"], settings["draws"]
    rng = np.random.default_rng([seed, 2])
    honest, misled = (
        Victim(network, picture.images, int(picture.labels[0]), settings["eps"], answer)
        for answer in (None, LIES["coin"](seed))
    )
    x = honest.onto_sphere(picture.images.new_tensor(rng.standard_normal(picture.images.shape)))
    g, here = honest.slope(x)
    g = tangent(g, x - picture.images)
    wide = WIDE * honest.radius
    estimates: dict[str, tuple[int, Callable[[], Any]]] = {
        "duels": (draws["duels"], lambda: slope_by_duels(honest, rng, x)),
        "wide duels": (draws["duels"], lambda: slope_by_duels(honest, rng, x, radius=wide)),
        "coin": (draws["duels"], lambda: slope_by_duels(misled, rng, x)),
        "values": (draws["values"], lambda: slope_by_values(honest, rng, here)),
    }

    def cosine(h: Any) -> float:
        return float((h * g).sum() / (h.norm() * g.norm()))

    return {
        name: float(np.mean([cosine(draw()) for _ in range(many)]))
        for name, (many, draw) in estimates.items()
    }


def _bytes(image: Any) -> list[Any]:
    """Pixels as JSON: whole numbers 0..255, (height, width, channels)."""
    return (image[0].permute(1, 2, 0) * 255).round().clamp(0, 255).int().tolist()


Records = list[dict[str, Any]]  # of one method, one an image


def by_label(outcomes: Sequence[Outcome]) -> tuple[dict[str, Records], Records, list[int]]:
    """Records of each method, and of the directions, on the images that every method has attacked.

    Returns
    -------
    found : dict
        Records by label, in the order of `LINES` and of the images, with the iterations allowed.
    directions : list
        What was measured of the directions, image by image.
    images : list of int
        Numbers of the images.
    """
    every: dict[tuple[str, int], dict[str, Any]] = {}
    for o in outcomes:
        settings = o.task.settings
        record = {**o.record, "allowed": settings.get("iterations")}
        every[settings["label"], settings["image"]] = record
    numbers = sorted({image for _, image in every})
    names = (*LINES, DIRECTIONS)
    images = [i for i in numbers if all((name, i) in every for name in names)]
    found = {name: [every[name, i] for i in images] for name in names}
    return found, found.pop(DIRECTIONS), images


# -- measures --------------------------------------------------------------------------------------


def over(a: dict[str, Any], b: dict[str, Any], what: str) -> float:
    """What one attack spent until the network was fooled, over what another spent.

    Infinite if the first failed, however early it gave up. If the second failed, it counts with its
    budget, the least that it would have spent. 1 if both failed.

    Parameters
    ----------
    a, b : dict
        Records of both on the same image.
    what : {"iteration", "passes", "seconds"}
        What they spent.
    """
    if not a["fooled"]:
        return math.inf if b["fooled"] else 1.0
    return a[what][-1] / b[what][-1]


def falls(record: dict[str, Any]) -> float:
    """Share of the iterations in which the loss, which is to rise, falls."""
    steps = np.diff(record["loss"])
    return float(np.mean(steps < 0)) if steps.size else 0.0


def setback(record: dict[str, Any]) -> float:
    """Deepest fall below the highest loss so far, over the range of all losses."""
    loss = np.asarray(record["loss"])
    deepest = float(np.max(np.maximum.accumulate(loss) - loss))
    return deepest / float(np.ptp(loss)) if np.ptp(loss) else 0.0


# -- claims ----------------------------------------------------------------------------------------


def attack_claims(found: dict[str, Records], directions: Records) -> list[Claim]:
    """What section 5.2.1 says of the attacks, judged by their records."""
    code, text, zo = (found[label] for label in ("RDNGD, code", "RDNGD, text", "ZO-RGD"))
    ours = {"repaired": found["RDNGD, repaired"], "default method": found["default method"]}
    lies = {lie: found[f"RDNGD, code, {lie}"] for lie in LIES}
    figures = ("5.2.1", "figure 4", "figure 9", "figure 10", "figure 11")

    def fooled(records: Records) -> Estimate:
        return share([r["fooled"] for r in records], "images")

    def spent(records: Records, rivals: Records, what: str) -> Estimate:
        return median([over(a, b, what) for a, b in zip(records, rivals, strict=True)], "images")

    def cheaper(
        says: str, what: str, words: str, remark: str, where: tuple[str, ...] = figures
    ) -> list[Claim]:
        measures = (
            f"{words} until the network is fooled, RDNGD's over ZO-RGD's on the same image "
            "(infinite if RDNGD fails, 1 if both fail, ZO-RGD's budget if it fails)"
        )
        published = Claim(
            where,
            says,
            measures,
            below(1),
            {
                "settings of the text": spent(text, zo, what),
                "settings of the code": spent(code, zo, what),
            },
            {lie: spent(records, zo, what) for lie, records in lies.items()},
            remark,
        )
        repaired = Claim(
            where,
            f"{says} (both repaired)",
            measures,
            below(1),
            {
                name: spent(records, found["ZO-RGD, repaired"], what)
                for name, records in ours.items()
            },
            remark="Settings that single precision resolves; see the table.",
            again=True,
        )
        return [published, repaired]

    walk = median([100 * r["outwards"] / max(1, r["iteration"][-1]) for r in zo], "images")
    pixels = np.size(found["PGD"][0]["original"])
    return [
        Claim(
            figures,
            "For all these test images, the attacks successfully induce misclassification",
            "share of the images on which the network is fooled",
            at_least(1).of_each(),
            {
                "RDNGD, settings of the text": fooled(text),
                "RDNGD, settings of the code": fooled(code),
                **{name: fooled(found[name]) for name in ("ZO-RGD", "PGD", "RGD")},
            },
            {lie: fooled(records) for lie, records in lies.items()},
            f"The text's step of 1e-6 moves the image by "
            f"{number(median([r['moved'] for r in text]).value)} in {T:,} iterations, on a sphere "
            f"of radius {number(_radius(code))} (E16). Of the nine images with released curves, "
            "five are misclassified before any attack. On the other four RDNGD succeeds within 25 "
            "to 400 iterations: the larger a network's gradients, the fewer duels tie.",
        ),
        Claim(
            figures,
            "For all these test images, the attacks successfully induce misclassification "
            "(repaired)",
            "share of the images on which the network is fooled",
            at_least(1).of_each(),
            {name: fooled(records) for name, records in ours.items()},
            again=True,
        ),
        Claim(
            figures,
            "RDNGD reaches higher adversarial loss than ZO-RGD",
            "highest loss of an iterate, RDNGD's over ZO-RGD's on the same image",
            above(1),
            {
                "settings of the text": _higher(text, zo),
                "settings of the code": _higher(code, zo),
            },
            {lie: _higher(records, zo) for lie, records in lies.items()},
            "Both end at the first iterate that fools, so two successes end alike.",
        ),
        *cheaper(
            "RDNGD reaches it in fewer iterations",
            "iteration",
            "iterations",
            f"The walk to the sphere is {number(walk.value)} % of ZO-RGD's iterations: its "
            "published estimate there is a random direction, since it subtracts the loss at the "
            "iterate from losses near the image.",
        ),
        *cheaper(
            "RDNGD reaches it in less CPU time",
            "seconds",
            "CPU time",
            f"ZO-RGD is given {SCORED} of its 1,000 iterations on the sphere, as many forward "
            "passes as RDNGD's duels take.",
        ),
        *cheaper(
            "Superior query efficiency: 10 samples instead of 500",
            "passes",
            "forward passes",
            "A duel is two passes; each method looks at its iterate as well.",
            ("figure 4",),
        ),
        Claim(
            figures,
            "RDNGD yields a more stable optimization trajectory",
            "share of iterations in which the loss of the iterate falls, RDNGD's less ZO-RGD's",
            below(0),
            {"settings of the code": _steadier(code, zo)},
            {lie: _steadier(records, zo) for lie, records in lies.items()},
            "The released program draws RDNGD's highest loss so far, which cannot fall, and "
            "ZO-RGD's loss itself.",
        ),
        Claim(
            ("figure 4",),
            "Accurate gradient estimation with only 10 samples instead of 500",
            "cosine between the estimate and the gradient, of ten duels over that of 500 values",
            at_least(1),
            {"settings of the code": _share_of_values(directions, "duels")},
            {"coin": _share_of_values(directions, "coin")},
            f"Cosines: {_cosine(directions, 'duels')} for ten duels, "
            f"{_cosine(directions, 'wide duels')} with wide probes, "
            f"{_cosine(directions, 'values')} for 500 values. Ten true signs in {pixels - 1:,} "
            "dimensions give about √(2/π)·√(10/d), "
            f"{number(math.sqrt(20 / math.pi / (pixels - 1)))}.",
        ),
        Claim(
            figures,
            "The perturbations are visually indistinguishable",
            "judgements of people",
            at_least(1),
            {},
            missing="nobody was asked; RDNGD's images differ from the originals by "
            f"{_middle(code, 'size'):.1%} of their norm, a peak signal-to-noise ratio of "
            f"{_middle(code, 'psnr'):.1f} dB, and {_middle(code, 'outside'):.1%} of their pixels "
            "leave their range",
        ),
        Claim(
            ("5.2.1",),
            "The sphere has dimension about 1000",
            "dimension",
            between(900, 1100),
            {"CIFAR-10": exact(pixels - 1)},
            remark="One less than the pixels in three colours (E16).",
        ),
    ]


def _higher(records: Records, rivals: Records) -> Estimate:
    ratios = [max(a["loss"]) / max(b["loss"]) for a, b in zip(records, rivals, strict=True)]
    return median(ratios, "images")


def _steadier(records: Records, rivals: Records) -> Estimate:
    return median([falls(a) - falls(b) for a, b in zip(records, rivals, strict=True)], "images")


def _share_of_values(directions: Records, name: str) -> Estimate:
    return median([r[name] / r["values"] for r in directions], "images")


def _cosine(directions: Records, name: str) -> str:
    return number(float(np.median([r[name] for r in directions])))


def _middle(records: Records, what: str) -> float:
    return float(np.median([r[what] for r in records]))


def _radius(records: Records) -> float:
    """Median length of the perturbations in pixels, from their share of the image."""
    return float(
        np.median([r["size"] * np.linalg.norm(np.asarray(r["original"]) / 255) for r in records])
    )


# -- tables and figures ----------------------------------------------------------------------------

PUBLISHED_TEXT = (
    "As published: PGD adds 1e-4 times the sign of the gradient within the ball, 150 times. RGD "
    "adds 2e-3 times the gradient on the sphere through PGD's result, 150 times. ZO-RGD "
    "estimates the gradient from 500 values at Gaussian distance 1e-6 and adds 1e-3 times it, "
    "after a walk of steps 0.1, from 100 values each, to the sphere. It is given "
    f"{SCORED} iterations on the sphere instead of 1,000: as many forward passes as RDNGD's duels "
    "take. RDNGD has ten duels an iteration, T = 1,000. “Text”: ν = η = 1e-6, a random start. "
    "“Code”, the released program: ν = 1e-6 and steps of 0.1 after a walk of steps 0.5 from the "
    "image, ties answer −1, pixels may leave their range. “Repaired”: probes that single "
    "precision resolves, steps of an angle, pixels that keep their range. The default method knows "
    "beforehand what holds of photographs, and nothing of the network. RGD and ZO-RGD step in "
    "proportion to the gradient, so they depend on the network, and the paper's is another VGG."
)


def _not_theirs(data: str, quick: bool) -> str:
    if data == DIGITS:
        return (
            "These are scikit-learn's digits and a small network trained on the spot, not the "
            "paper's data (`--attack-data FOLDER`), so no claim is judged by them."
        )
    return (
        "A quick run: too few iterations and images to judge a claim by."
        if quick
        else "These pictures are not CIFAR-10, so no claim is judged by them."
    )


# Colour and line of each method that is drawn.
DRAWN = {
    "PGD": (6, ":"),
    "RGD": (5, ":"),
    "ZO-RGD": (3, "--"),
    "RDNGD, text": (4, "-"),
    "RDNGD, code": (0, "-"),
    "RDNGD, repaired": (1, "-"),
    "default method": (2, "-"),
}
SHOWN = ("PGD", "RGD", "ZO-RGD", "RDNGD, code", "RDNGD, repaired")
SPENT = {"iteration": "iterations + 1", "seconds": "CPU time in seconds"}
LEAST = {"iteration": 1.0, "seconds": 1e-2, "passes": 1.0}  # where logarithmic axes begin
POINTS = 200  # of a drawn curve

IMAGE_CAPTION = (
    "Loss against iterations (above) and CPU time (below), one column an image. Of the published "
    "methods it is the loss of the iterate, of the repaired ones and the default the highest so "
    "far. A dot: the network is fooled. Dashed lines see values, dotted ones gradients."
)
MEAN_CAPTION = (
    "Mean over the images of the highest loss so far, against iterations and CPU time; an image "
    "that is done keeps its last. Right: share of images on which the network is fooled, against "
    "forward passes."
)


def _image_curves(found: dict[str, Records]) -> Any:
    first = found["PGD"]
    with panels(2, len(first), height=2.7) as (figure, axes):
        for column, record in enumerate(first):
            for row, what in enumerate(SPENT):
                axis = axes[row, column]
                for label, (hue, line) in DRAWN.items():
                    r = found[label][column]
                    x, y = _thinned(r, what)
                    axis.plot(x, y, line, color=COLOURS[hue], label=label, lw=1.2)
                    if r["fooled"]:
                        axis.plot(x[-1], y[-1], "o", color=COLOURS[hue], markersize=3.5)
                axis.set(xscale="log", yscale="log", xlabel=SPENT[what])
            axes[0, column].set_title(record["classes"][record["label"]])
        axes[0, 0].set_ylabel("loss")
        axes[1, 0].set_ylabel("loss")
        handles, names = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=len(names))
    return figure


def _thinned(record: dict[str, Any], what: str) -> tuple[np.ndarray, np.ndarray]:
    """A curve with at most so many points, evenly spread on a logarithmic axis."""
    x = np.maximum(np.asarray(record[what], dtype=float), 0 if what == "iteration" else LEAST[what])
    x = x + 1 if what == "iteration" else x
    grid = np.geomspace(x[0], x[-1], POINTS)
    keep = np.unique(np.clip(np.searchsorted(x, grid), 0, len(x) - 1))
    return x[keep], np.asarray(record["loss"])[keep]


def _mean_curves(found: dict[str, Records]) -> Any:
    with panels(1, 3) as (figure, axes):
        for label, (hue, line) in DRAWN.items():
            style = {"color": COLOURS[hue], "linestyle": line, "label": label}
            records = found[label]
            for axis, what in zip(axes[0], SPENT, strict=False):
                axis.plot(*_mean(records, what), **style)
            spent = sorted(r["passes"][-1] for r in records if r["fooled"])
            shares = np.arange(len(spent) + 1) / len(records)
            most = max(r["passes"][-1] for r in records)
            axes[0, 2].step([1, *spent, most], [*shares, shares[-1]], where="post", **style)
        words = (*SPENT.values(), "forward passes")
        titles = ("loss", "loss", "misclassified")
        for axis, name, title in zip(axes[0], words, titles, strict=True):
            axis.set(xscale="log", xlabel=name, title=title)
        axes[0, 2].set_ylim(-0.02, 1.04)
        handles, names = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper left", ncols=len(names))
    return figure


def _mean(records: Records, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean over images of the highest loss so far, at common numbers of iterations or seconds."""
    most = max(r[what][-1] for r in records)
    at = np.geomspace(LEAST[what], max(most + (what == "iteration"), 2 * LEAST[what]), POINTS)
    total = np.zeros(POINTS)
    for r in records:
        x = np.asarray(r[what], dtype=float) + (what == "iteration")
        last = np.clip(np.searchsorted(x, at, "right") - 1, 0, None)
        total += np.maximum.accumulate(r["loss"])[last]
    return at, total / len(records)


def _table(found: dict[str, Records]) -> Table:
    body = []
    for label, records in found.items():
        r, published = records[0], LINES[label].published
        fooled = sum(r["fooled"] for r in records)
        least = "≥ " if 2 * fooled <= len(records) else ""  # the median is that of a failure

        def spent(what: str, form: str, least: str = least, records: Records = records) -> str:
            return least + format(float(np.median([r[what][-1] for r in records])), form)

        asked = sum(r["duels"] for r in records)
        body.append(
            [
                label,
                r["sees"],
                f"{fooled} of {len(records)}",
                f"{r['allowed']:,}",
                spent("iteration", ",.0f"),
                f"{_middle(records, 'outwards'):.0f}" if published else "",
                spent("passes", ",.0f"),
                spent("seconds", ",.1f"),
                f"{sum(r['ties'] for r in records) / asked:.0%}" if asked else "",
                f"{np.median([falls(r) for r in records]):.0%}" if published else "",
                f"{np.median([setback(r) for r in records]):.0%}" if published else "",
                f"{_middle(records, 'size'):.3f}",
                f"{_middle(records, 'psnr'):.1f}",
            ]
        )
    head = [
        *("method", "sees", "fooled", "allowed", "iterations", "outwards", "passes", "CPU s"),
        *("ties", "falls", "setback", "size", "dB"),
    ]
    caption = (
        "Medians over the images; a run that failed counts with what it spent, and ≥ marks a "
        "median that is one. Allowed: iterations on the sphere. Outwards: iterations of the walk "
        "to it. Falls: share of iterations in which the iterate's loss falls. Setback: its "
        "deepest fall below the highest so far, over its range. Size: |x − x₀|/|x₀|. dB: peak "
        "signal-to-noise ratio. Reversed, constant, coin: false answers to the duels."
    )
    return Table(head, body, caption, name="attack")


def _row(experiment: str, label: str, records: Records) -> dict[str, Any]:
    """A method's numbers for the summary: what each image took."""
    return {
        "experiment": experiment,
        "method": label,
        "sees": records[0]["sees"],
        "control": LINES[label].control,
        "fooled": [r["fooled"] for r in records],
        **{what: [r[what][-1] for r in records] for what in ("iteration", "passes", "seconds")},
        **{what: [r[what] for r in records] for what in ("duels", "ties", "size", "psnr")},
        "falls": [falls(r) for r in records] if LINES[label].published else None,
    }


def _pictures(found: dict[str, Records]) -> list[list[tuple[bytes, str]]]:
    rows = []
    for i, record in enumerate(found["PGD"]):
        named = record["classes"]
        row = [(_jpeg(record["original"]), f"original: {named[record['label']]}")]
        for label in SHOWN:
            r = found[label][i]
            row.append((_jpeg(r["picture"]), f"{label}: {named[r['answer']]}"))
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
