"""`attack`: many images at once, each on its own sphere, until the network is fooled."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from .._support.check import as_generator, function, positive_int, truth
from .._support.endings import carry, listen, wants_to_stop, warn
from .._support.progress import progress_bar, thin
from ..errors import ArgumentError, BudgetExhaustedError, OracleError, RadiusWarning, TiesWarning
from ..manifolds import Sphere
from ..methods import Method
from ..optimize import TIES_WORTH_A_WARNING
from ..oracles.base import answers
from ._torch import nn, torch
from .arguments import (
    as_number,
    check_labels,
    check_radii,
    check_start,
    resolved_method,
    sphere_of,
)
from .images import check_images
from .judge import Judge
from .methods import Slopes, Values, named
from .open_images import OpenImages
from .priors import Directions, ShapedSphere
from .radii import LABELS_A_DUEL, LabelDuel, Tracker
from .remote import Remote
from .result import AttackHistory, AttackProgress, AttackResult
from .threat import Threat

__all__ = ["attack"]


def attack(
    model: Callable[[torch.Tensor], Any] | None,
    images: torch.Tensor,
    labels: torch.Tensor | None = None,
    *,
    eps: float | None = None,
    radius: float | torch.Tensor | None = None,
    norm: Literal["l2", "linf"] = "l2",
    smallest: bool = False,
    method: str | Method = "auto",
    budget: int,
    targeted: int | torch.Tensor | None = None,
    start: torch.Tensor | None = None,
    batch_size: int = 256,
    oracle: Literal["loss", "margin", "label"] | Callable[..., Any] = "margin",
    clip: tuple[float, float] = (0.0, 1.0),
    directions: str | Directions | None = None,
    q: int = 8,
    dtype: torch.dtype | None = None,
    rng: np.random.Generator | int | None = None,
    callback: Callable[[AttackProgress], Any] | None = None,
    progress: bool = False,
) -> AttackResult:
    """Look for images near the given ones that change a classifier's answer, by comparisons alone.

    Each image x has its own sphere of perturbations, of radius ``eps * |x|``, intersected with the
    range of pixels (see `geoduel.attack.threat`). The method asks which of two perturbed images is
    more adversarial. The first that fools the network ends the attack on its image, and the others
    go on. With ``smallest=True`` all go on, with smaller and smaller radii.

    Parameters
    ----------
    model : callable
        Maps images to logits, a ``torch.nn.Module`` or any function; logits may come in an object
        or a dictionary by the name ``logits``, or first in a tuple. A module is put in eval mode
        during the attack. None with an oracle of one's own: nothing then tells when an image
        succeeds, and each uses its budget.
    images : torch.Tensor of shape (n, channels, height, width)
        Pixels within ``clip``, floating-point; their device is used.
    labels : torch.Tensor of int, shape (n,), optional
        True classes. By default what the model answers.
    eps : float, optional
        Radius as a share of the Euclidean norm of each image, by default 0.05; with ``norm="linf"``
        as a share of the range of pixels, by default 8/255.
    radius : float or torch.Tensor of shape (n,), optional
        Radius itself, instead of ``eps``.
    norm : {"l2", "linf"}
        What is bounded: the Euclidean norm of all pixels, or the largest change of a pixel.
    smallest : bool
        Look for the smallest perturbation that fools, until the budget ends. The radius is then
        where the search begins. It shrinks while the images fool, and grows while they do not.
        The nearest images that fool come back, and `AttackResult.radii` says how near they are.
    method : str or Method
        A name, here by what the method may see:

        * comparisons: "auto" or "learning" (`geoduel.attack.Learning`: where gradients have
          their energy is learned from the same duels);
        * comparisons: "averaging" (RDNGD with the steps of `geoduel.attack.Averaging`), "rdngd"
          (batches of ten, cosine steps), "evolution" ((1+1) evolution strategy);
        * comparisons, as the authors ask: "rdngd-released" and "rdngd-paper" (the constants of
          their code and of their text; `geoduel.attack.published` has what else they do);
        * scores: "zo-rgd";
        * gradients: "rgd", "pgd".

        Or a method of the package, such as ``RDNGD(...)``, that takes leading axes.
    budget : int
        Most comparisons about each image; forward passes where the method does not compare, and
        labels with ``oracle="label"``. The first look at an image is free.
    targeted : int or torch.Tensor of int, shape (n,), optional
        Classes to reach, instead of any other than ``labels``.
    start : torch.Tensor of shape (n, channels, height, width), optional
        Images to begin from, such as pictures of the classes to reach: the first direction is from
        each image to its start. With ``oracle="label"`` one label says whether it fools where it
        is, and duels begin at its distance. In the largest norm only the signs of the way are used.
    batch_size : int
        Most images in one forward pass.
    oracle : {"margin", "loss", "label"} or callable
        What is compared: the margin of the network's answer (the largest other logit minus the true
        one) or its loss (cross entropy). With "label" only classes are seen: of two directions that
        is ahead along which the network is fooled nearer by, see `geoduel.attack.radii.LabelDuel`.
        Such a model may return class numbers. Or ``oracle(images_a, images_b) -> answers``, see
        `geoduel.attack.Remote`, which also retries, logs and resumes.
    clip : tuple of float
        Least and largest pixel.
    directions : {"natural", "low-frequency", "all", "fitted"} or Directions, optional
        What is known of perturbations beforehand, see `geoduel.attack.prior`. By default "natural"
        for "auto", "averaging" and "evolution", which knows photographs and no network; "all",
        nothing, for the others.
    q : int
        Cosines per axis for "low-frequency".
    dtype : torch.dtype, optional
        Run a copy of the network in this dtype and channels last, ``torch.bfloat16`` for speed on
        an accelerator. What it finds counts once the network itself confirms it.
    rng : int or numpy.random.Generator, optional
        Seed or generator. The same seed and images give the same attack.
    callback : callable, optional
        ``callback(progress)`` after each iteration; True, or what counts as true, stops it.
    progress : bool
        Show a progress bar on standard error.

    Returns
    -------
    AttackResult
        Also after Ctrl-C, with what was found so far.

    Raises
    ------
    ArgumentError
        For a wrong argument; the message names it.
    OracleError
        If the model or the oracle fails, or answers something else than logits or answers. This
        and any other error that ends the attack, such as one of the callback, holds in its
        attribute ``result`` what was found so far.

    Warns
    -----
    RadiusWarning
        If the probes of a method of one's own are below what the dtype resolves; they are widened.
        Those of methods by name are widened silently, except for the settings as published.
    TiesWarning
        If more than 5 % of the comparisons were ties. Where warnings are made errors, it has an
        attribute ``result``, too.

    Examples
    --------
    >>> import torch
    >>> images = torch.full((2, 1, 4, 4), 0.5)
    >>> def model(x):  # answers 1 where the left half is brighter
    ...     contrast = x[..., :2].mean((1, 2, 3)) - x[..., 2:].mean((1, 2, 3)) - 0.01
    ...     return torch.stack([-contrast, contrast], 1)
    >>> result = attack(model, images, torch.tensor([0, 0]), budget=200, directions="all", rng=0)
    >>> result.success.tolist(), model(result.images).argmax(1).tolist()
    ([True, True], [1, 1])
    >>> bool(((result.images - images).flatten(1).norm(dim=1) < 0.1001).all())  # 0.05 |x| = 0.1
    True
    """
    rng = as_generator(rng)
    positive_int(budget, "budget")
    positive_int(batch_size, "batch_size")
    truth(smallest, "smallest")
    if callback is not None:
        function(callback, "callback", "the progress")
    check_images(images, clip)
    n = len(images)
    limits = float(clip[0]), float(clip[1])
    threat = Threat(images, check_radii(images, eps, radius, limits, norm), limits, norm)
    chosen, usual = named(method)
    name = method if isinstance(method, str) else type(method).__name__
    manifold = sphere_of(threat, usual if directions is None else directions, q)

    own = oracle if callable(oracle) else None
    if own is not None and not hasattr(own, "vectorized"):
        own = Remote(own, batch_size=batch_size)
    judge = None
    if model is None:
        if own is None:
            raise ArgumentError("model may be None with an oracle of one's own, not with a score")
    else:
        goal = check_labels(targeted, "targeted", images) if targeted is not None else labels
        judge = Judge(
            model,
            torch.zeros(n, dtype=torch.int64)
            if goal is None
            else check_labels(goal, "labels", images),
            "margin" if own is not None else oracle,  # type: ignore[arg-type]
            targeted is not None,
            batch_size,
            dtype,
        )
    if smallest and judge is None:
        raise ArgumentError("smallest=True needs a model, whose answers say when an image fools")
    if oracle == "label" and dtype is not None:
        raise ArgumentError("dtype= runs a copy of the network: with oracle='label' leave it out")
    if start is not None:
        start = check_start(start, images, limits)
    found = OpenImages(threat, judge, smallest)
    run = _Run(found, manifold, chosen, rng, own, budget, name, callback, start)
    with torch.no_grad(), _evaluating(model), progress_bar(progress, None, budget) as run.show:
        if judge is not None and labels is None and targeted is None:
            judge.labels = judge.logits(images, exact=True).argmax(1)
            run.open.passes += 1
        result = run.result()
    many = result.ties > TIES_WORTH_A_WARNING * max(1, int(result.comparisons.sum()))
    if many and result.sees != "labels":
        warn(
            TiesWarning,
            f"{result.ties} of {int(result.comparisons.sum())} comparisons were ties, which tell "
            "nothing: the probes are below what images and network resolve",
            result,
        )
    return result


class _Run:
    """One attack: the method's questions about the open images, the counts, and the records."""

    def __init__(
        self,
        images: OpenImages,
        manifold: Sphere,
        method: Any,
        rng: np.random.Generator,
        oracle: Any,
        budget: int,
        name: str,
        callback: Callable[[AttackProgress], Any] | None,
        start: torch.Tensor | None,
    ) -> None:
        self.began = time.perf_counter()
        self.open, self.manifold, self.rng = images, manifold, rng
        self.oracle, self.budget, self.callback = oracle, budget, callback
        self.name, self.sees = name, method.sees
        by_labels = images.judge is not None and images.judge.score == "label"
        if (oracle is not None or by_labels) and self.sees != "comparisons":
            what = "labels" if by_labels else "an oracle"
            raise ArgumentError(f"method {name!r} needs a model's {self.sees}, not {what}")
        self.sees = "labels" if by_labels else self.sees
        self.labels: LabelDuel | None = None
        self.start = start
        known = start is not None
        self.method = resolved_method(method, name, images.threat, images.judge, known)
        self.radius = images.threat.radius
        self.comparisons = torch.zeros_like(images.passes)
        self.spent = 0  # comparisons, or passes, of each open image
        self.ties = self.iteration = 0
        self.history, self.stride = AttackHistory(), 1
        self.track = Tracker()
        self.show: Callable[[int, int], None] | None = None
        self.state: Any = None

    # -- the loop ----------------------------------------------------------------------------------

    def result(self) -> AttackResult:
        """Run, and say what was found."""
        try:
            reason = self.loop()
        except BaseException as error:  # whatever it is, what was found is not lost with it
            self.close_done()
            failed = "oracle error" if isinstance(error, OracleError) else "error"
            carry(
                error,
                self.found(failed),
                self.iteration,
                f"{self.spent} questions about each image",
            )
            raise
        return self.found(reason)

    def found(self, reason: str) -> AttackResult:
        """What there is to return now."""
        found = self.open
        self.record()
        self.show_best(torch.ones_like(found.live, dtype=torch.bool))
        return AttackResult(
            found.images,
            found.success,
            self.comparisons,
            found.passes,
            self.radius,
            self.ties,
            self.iteration,
            reason,
            time.perf_counter() - self.began,
            self.name,
            self.sees,
            self.history,
            found.threat.norm,
            found.radii,
            found.trace,
        )

    def show_best(self, which: torch.Tensor) -> None:
        """Put the method's best point in the place of those live images that nothing fooled."""
        found = self.open
        which = torch.nonzero(which & ~found.success[found.live])[:, 0]
        if self.state is not None and len(which):
            threat = found.threat.at(self.radius[found.live]).take(which)
            images = threat.image(self.state.best[which])
            found.images[found.live[which]] = images.to(found.images.dtype)

    def loop(self) -> str:
        """Put the method's questions until no image is open, or the budget is spent."""
        try:
            self.begin()
            while len(self.open):
                questions = self.method.step(self.manifold, self.state, self.rng)
                before = self.open.radii.clone() if self.open.smallest else None
                self.state = self.answered(questions)
                self.iteration += 1
                if self.labels is not None:
                    self.labels.close()
                elif before is not None:
                    self.track(self.open, before, self.iteration)
                self.close_done()
                if self.iteration % self.stride == 0 or not len(self.open):
                    self.record()
                if self.callback is not None and wants_to_stop(
                    listen(self.callback, self.progress(), "callback")
                ):
                    return "callback"
        except BudgetExhaustedError:
            self.close_done()
        except KeyboardInterrupt:
            self.close_done()
            return "interrupted"
        fooled = self.open.radii == 0 if self.open.smallest else self.open.success
        return "done" if bool(fooled.all()) else "budget"

    def begin(self) -> None:
        """Look at the images as they are, and start the method on those that are not fooled."""
        if self.open.judge is not None:
            self.open.look()
            self.close_done()
        if not len(self.open):
            return
        live = self.open.live
        like = torch.empty(0, dtype=as_number(self.open.images.dtype), device=live.device)

        def draw() -> torch.Tensor:
            return self.manifold.random_point(self.rng, (len(live),), like)

        far = None
        if self.start is None:
            x0 = draw()
        else:
            there = self.start[live].to(like)
            x0 = self.manifold.to_manifold(there - self.open.threat.x)
            far = self.open.threat.size(there)
        if self.sees == "labels":
            self.labels = LabelDuel(self.open, self.budget)
            x0 = self.labels.start(draw, x0, far)
        budget = self.budget if self.labels is None else max(1, self.budget // LABELS_A_DUEL)
        with warnings.catch_warnings():  # settings as published have no probes to speak of
            warnings.simplefilter("ignore", RadiusWarning)
            self.method, _ = self.method.plan(self.manifold, x0, iterations=None, budget=budget)
        self.state = self.method.start(self.manifold, x0, self.rng)
        self.record()

    def answered(self, questions: Generator[Any, Any, Any]) -> Any:
        """The state after one iteration."""
        try:
            question = next(questions)
            while True:
                question = questions.send(self.answer(question))
        except StopIteration as done:
            return done.value

    def close_done(self) -> None:
        """Go on without the images that are done: their points leave manifold and state."""
        self.show_best(self.open.done[self.open.live])
        before, keep = len(self.open), self.open.close_done()
        if keep is None:
            return

        def take(a: Any) -> Any:
            return a[keep] if isinstance(a, torch.Tensor) and a.ndim and len(a) == before else a

        if isinstance(self.manifold, ShapedSphere):
            self.manifold = ShapedSphere(self.manifold.directions.take(keep))
        if self.state is not None:
            self.state = type(self.state)(*map(take, self.state))

    # -- questions ---------------------------------------------------------------------------------

    def answer(self, question: Any) -> Any:
        """Answer a question of the method, within the budget."""
        many = question[0].shape[0] if question[0].ndim > 4 else 1
        if self.labels is None and self.spent + many > self.budget:
            raise BudgetExhaustedError
        self.spent += many
        if isinstance(question, Values):
            return self.open.ask(question.x)[0].score
        if isinstance(question, Slopes):
            return self.open.slopes(question.x)
        x, y = question
        if self.labels is not None:
            s = self.by_labels(self.labels, x, y)
        else:
            s = self.by_network(x, y, many) if self.oracle is None else self.by_oracle(x, y)
        self.ties += int((s == 0).sum())
        return s

    def by_network(self, x: torch.Tensor, y: torch.Tensor, many: int) -> torch.Tensor:
        """Compare the network's scores; an image that one of the points fools is counted here."""
        live = self.open.live
        was_open = ~self.open.done[live]
        a, b = self.open.ask(x, y)
        spent = torch.full_like(live, self.spent)
        if many > 1:  # those fooled by an early comparison of a batch needed no later one
            hit = a.fools | b.fools
            first = self.spent - many + 1 + hit.to(torch.int8).argmax(0)
            spent = torch.where(hit.any(0), first, spent)
        self.comparisons[live[was_open]] = spent[was_open]
        return torch.sign(b.score - a.score).to(x.dtype)

    def by_labels(self, duel: LabelDuel, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Compare how far the boundary is along two points, one pair after the other."""
        live = self.open.live
        self.comparisons[live[~self.open.done[live]]] = self.spent
        if x.ndim == 4:
            return duel(x, y)
        return torch.stack([duel(a, b) for a, b in zip(x, y, strict=True)])

    def by_oracle(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Ask the user's oracle; the model, if there is one, looks at the iterate itself."""
        live, lead = self.open.live, tuple(x.shape[:-3])
        a, b = (self.open.picture(p).flatten(0, -4) for p in (x, y))
        if isinstance(self.oracle, Remote) and self.oracle.wants_index:
            s = self.oracle(a, b, live.expand(lead).reshape(-1))
        else:
            s = answers(self.oracle, a, b, 3)
        self.comparisons[live] = self.spent
        if self.open.judge is not None:
            self.open.ask(self.state.best)
        return s.to(x.dtype).reshape(lead)

    # -- records -----------------------------------------------------------------------------------

    def record(self) -> None:
        """Append to the history, and thin it by half when it has grown long."""
        h = self.history
        if h.iteration and h.iteration[-1] == self.iteration:
            for column in vars(h).values():  # the end may come in the middle of an iteration
                del column[-1:]
        h.iteration.append(self.iteration)
        h.comparisons.append(self.spent if self.sees in ("comparisons", "labels") else 0)
        h.forward_passes.append(int(self.open.passes.sum()))
        h.seconds.append(time.perf_counter() - self.began)
        h.success.append(float(self.open.success.float().mean()))
        if self.open.judge is not None:
            h.score.append(float(self.open.top.mean()))
        self.stride = thin(h, self.stride)
        if self.show is not None:
            self.show(self.iteration, self.spent)

    def progress(self) -> AttackProgress:
        n = len(self.open.success)
        seconds = time.perf_counter() - self.began
        return AttackProgress(self.iteration, self.spent, n, n - len(self.open), seconds)


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Put a network in eval mode, and each of its parts back in the mode it had."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    modes = [module.training for module in modules]
    if any(modes):
        model.eval()
    try:
        yield
    finally:
        if any(modes):
            for module, training in zip(modules, modes, strict=True):
                module.training = training
