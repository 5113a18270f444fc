"""`attack`: many images at once, each on its own sphere, until the network is fooled."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator
from dataclasses import fields
from typing import Any, Literal, NamedTuple

import numpy as np

from .._support.check import as_generator, positive_int
from .._support.progress import progress_bar, thin
from ..errors import ArgumentError, BudgetExhaustedError, TiesWarning
from ..manifolds import Sphere
from ..methods import Method
from ..optimize import TIES_WORTH_A_WARNING
from ..oracles.base import answers
from ._torch import nn, torch
from .arguments import (
    as_number,
    check_images,
    check_labels,
    check_radii,
    resolved_method,
    sphere_of,
)
from .judge import Judge
from .methods import Slopes, Values, named
from .priors import Directions, ShapedSphere
from .remote import Remote
from .result import AttackHistory, AttackProgress, AttackResult
from .threat import Threat

__all__ = ["attack"]


def attack(
    model: Callable[[torch.Tensor], torch.Tensor] | None,
    images: torch.Tensor,
    labels: torch.Tensor | None = None,
    *,
    eps: float = 0.05,
    radius: float | torch.Tensor | None = None,
    method: str | Method = "auto",
    budget: int,
    targeted: int | torch.Tensor | None = None,
    batch_size: int = 256,
    oracle: Literal["loss", "margin"] | Callable[..., Any] = "margin",
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
    range of pixels (see `geoduel.attack.threat`). The method asks which of two perturbed
    images is more adversarial; the first one asked about that fools the network ends the attack on
    its image, and the others go on.

    Parameters
    ----------
    model : callable
        Maps images to logits, a ``torch.nn.Module`` or any function. A module is put in eval mode
        during the attack. None with an oracle of one's own: nothing then tells when an image
        succeeds, and each uses its budget.
    images : torch.Tensor of shape (n, channels, height, width)
        Pixels within ``clip``, floating-point; their device is used.
    labels : torch.Tensor of int, shape (n,), optional
        True classes. By default what the model answers.
    eps : float
        Radius as a share of the Euclidean norm of each image.
    radius : float or torch.Tensor of shape (n,), optional
        Radius itself, instead of ``eps``.
    method : str or Method
        By what each may see:

        * comparisons: "auto" (RDNGD with a step that averages, see
          `geoduel.attack.methods.Averaging`, and "natural" directions), "rdngd" (batches
          of ten, cosine steps), "rdngd-released" and "rdngd-paper" (the settings of the authors'
          code and of their text), "evolution" ((1+1) evolution strategy);
        * scores: "zo-rgd";
        * gradients: "rgd", "pgd".

        Or a method of the package, such as ``RDNGD(...)``, that takes leading axes.
    budget : int
        Most comparisons about each image; forward passes where the method does not compare.
    targeted : int or torch.Tensor of int, shape (n,), optional
        Classes to reach, instead of any other than ``labels``.
    batch_size : int
        Most images in one forward pass.
    oracle : {"margin", "loss"} or callable
        What is compared: the margin of the network's answer (the largest other logit minus the true
        one) or its loss (cross entropy). Or ``oracle(images_a, images_b) -> answers``, see
        `geoduel.attack.Remote`, which also retries, logs and resumes.
    clip : tuple of float
        Least and largest pixel.
    directions : {"natural", "low-frequency", "all"} or Directions, optional
        Prior on perturbations, see `geoduel.attack.prior`. By default "natural" for "auto"
        and "evolution", and "all" for the others.
    q : int
        Cosines per axis for "low-frequency".
    dtype : torch.dtype, optional
        Run a copy of the network in this dtype and channels last, ``torch.bfloat16`` for speed on
        an accelerator. What it finds counts once the network itself confirms it.
    rng : int or numpy.random.Generator, optional
        Seed or generator. The same seed and images give the same attack.
    callback : callable, optional
        ``callback(progress)`` after each iteration; True stops the attack.
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
        If the model or the oracle fails, or answers something else than logits or answers.

    Warns
    -----
    RadiusWarning
        If the probes of a method of one's own are below what the dtype resolves; they are widened.
        Those of methods by name are widened silently, except for the settings as published.
    TiesWarning
        If more than 5 % of the comparisons were ties.

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
    check_images(images, clip)
    n = len(images)
    threat = Threat(images, check_radii(images, eps, radius), (float(clip[0]), float(clip[1])))
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
    run = _Run(threat, manifold, chosen, rng, judge, own, budget, name, callback)
    with torch.no_grad(), _evaluating(model), progress_bar(progress, None, budget) as run.show:
        if judge is not None and labels is None and targeted is None:
            judge.labels = judge.logits(images, exact=True).argmax(1)
            run.passes += 1
        result = run.result()
    if result.ties > TIES_WORTH_A_WARNING * max(1, int(result.comparisons.sum())):
        warnings.warn(
            f"{result.ties} of {int(result.comparisons.sum())} comparisons were ties, which tell "
            "nothing: the probes are below what images and network resolve",
            TiesWarning,
            stacklevel=2,
        )
    return result


class _Asked(NamedTuple):
    """Points that were asked about, with their scores and whether they fool, for each problem."""

    p: torch.Tensor
    score: torch.Tensor
    fools: torch.Tensor

    def take(self, keep: torch.Tensor) -> _Asked:
        return _Asked(*(a[keep] for a in self))


class _Run:
    """One attack: the problems that are still open, what was found, and the counts."""

    def __init__(
        self,
        threat: Threat,
        manifold: Sphere,
        method: Any,
        rng: np.random.Generator,
        judge: Judge | None,
        oracle: Any,
        budget: int,
        name: str,
        callback: Callable[[AttackProgress], Any] | None,
    ) -> None:
        self.began = time.perf_counter()
        self.threat, self.manifold, self.rng = threat, manifold, rng
        self.judge, self.oracle, self.budget, self.callback = judge, oracle, budget, callback
        self.name, self.sees = name, method.sees
        if oracle is not None and self.sees != "comparisons":
            raise ArgumentError(f"method {name!r} needs a model's {self.sees}, not an oracle")
        self.method = resolved_method(method, name, threat, judge)
        x = threat.x
        n, device = len(x), x.device
        self.live = torch.arange(n, device=device)  # numbers of the open problems
        self.images = x.clone()
        self.success = torch.zeros(n, dtype=torch.bool, device=device)
        self.comparisons = torch.zeros(n, dtype=torch.int64, device=device)
        self.passes = torch.zeros_like(self.comparisons)
        self.top = torch.full((n,), -torch.inf, device=device, dtype=as_number(x.dtype))
        self.radius, self.ties, self.iteration = threat.radius, 0, 0
        self.spent = 0  # comparisons, or passes, of each open problem
        self.history, self.stride = AttackHistory(), 1
        self.show: Callable[[int, int], None] | None = None
        self.memory: tuple[_Asked, ...] = ()
        self.state: Any = None

    # -- the loop ----------------------------------------------------------------------------------

    def result(self) -> AttackResult:
        """Run, and say what was found."""
        reason = self.loop()
        self.record()
        left = self.state.best if self.state is not None else None
        if left is not None and len(self.live):
            self.images[self.live] = self.picture(left)
        return AttackResult(
            self.images,
            self.success,
            self.comparisons,
            self.passes,
            self.radius,
            self.ties,
            self.iteration,
            reason,
            time.perf_counter() - self.began,
            self.name,
            self.sees,
            self.history,
        )

    def loop(self) -> str:
        """Put the method's questions until the images are done, or the budget is."""
        try:
            self.look()
            if not len(self.live):
                return "done"
            like = torch.empty(0, dtype=as_number(self.threat.x.dtype), device=self.live.device)
            x0 = self.manifold.random_point(self.rng, (len(self.live),), like)
            self.method, _ = self.method.plan(
                self.manifold, x0, iterations=None, budget=self.budget
            )
            self.state = self.method.start(self.manifold, x0, self.rng)
            self.record()
            while True:
                self.state = self.ask_all(self.method.step(self.manifold, self.state, self.rng))
                self.iteration += 1
                self.drop(self.success[self.live])
                if self.iteration % self.stride == 0 or not len(self.live):
                    self.record()
                if self.callback is not None and self.callback(self.progress()):
                    return "callback"
                if not len(self.live):
                    return "done"
        except BudgetExhaustedError:
            self.drop(self.success[self.live])
            return "budget" if len(self.live) else "done"
        except KeyboardInterrupt:
            self.drop(self.success[self.live])
            return "interrupted"

    def ask_all(self, questions: Generator[Any, Any, Any]) -> Any:
        """The state after one iteration."""
        try:
            question = next(questions)
            while True:
                question = questions.send(self.answer(question))
        except StopIteration as done:
            return done.value

    def look(self) -> None:
        """One pass of the images as they are: some may be done already."""
        if self.judge is None:
            return
        score, fools = self.judge.judge(self.threat.x, self.live, exact=True)
        self.passes += 1
        self.top = score.to(self.top)
        self.success |= fools
        self.drop(fools)

    def drop(self, done: torch.Tensor) -> None:
        """Leave out the problems that are done."""
        if not bool(done.any()):
            return
        keep = torch.nonzero(~done)[:, 0]
        n = len(self.live)

        def take(a: Any) -> Any:
            return a[keep] if isinstance(a, torch.Tensor) and a.ndim and len(a) == n else a

        self.live, self.threat = self.live[keep], self.threat.take(keep)
        if isinstance(self.manifold, ShapedSphere):
            self.manifold = ShapedSphere(self.manifold.directions.take(keep))
        self.memory = tuple(m.take(keep) for m in self.memory)
        if self.state is not None:
            self.state = type(self.state)(*map(take, self.state))

    # -- questions ---------------------------------------------------------------------------------

    def answer(self, question: Any) -> Any:
        """Answer a question of the method, within the budget."""
        if isinstance(question, Values):
            self.spend(question.x.shape[0] if question.x.ndim > 4 else 1)
            return self.evaluate(question.x)[0].score
        if isinstance(question, Slopes):
            self.spend(1)
            return self.slopes(question.x)
        x, y = question
        many = x.shape[0] if x.ndim > 4 else 1
        self.spend(many)
        if self.oracle is not None:
            return self.ask_oracle(x, y)
        was_open = ~self.success[self.live]
        a, b = self.evaluate(x, y)
        s = torch.sign(b.score - a.score).to(x.dtype)
        self.ties += int((s == 0).sum())
        spent = torch.full_like(self.live, self.spent)
        if many > 1:  # those fooled by an early comparison of a batch needed no later one
            hit = a.fools | b.fools
            first = self.spent - many + 1 + hit.to(torch.int8).argmax(0)
            spent = torch.where(hit.any(0), first, spent)
        self.comparisons[self.live[was_open]] = spent[was_open]
        return s

    def spend(self, count: int) -> None:
        if self.spent + count > self.budget:
            raise BudgetExhaustedError
        self.spent += count

    def ask_oracle(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Answers of the user's oracle; the model, if there is one, looks at the point itself."""
        lead = tuple(x.shape[:-3])
        index = self.live.expand(lead).reshape(-1)
        a, b = (self.picture(p).flatten(0, -4) for p in (x, y))
        if isinstance(self.oracle, Remote) and self.oracle.wants_index:
            s = self.oracle(a, b, index)
        else:
            s = answers(self.oracle, a, b, 3)
        self.comparisons[self.live] = self.spent
        self.ties += int((s == 0).sum())
        if self.judge is not None:
            self.evaluate(self.state.best)
        return s.to(x.dtype).reshape(lead)

    def picture(self, p: torch.Tensor) -> torch.Tensor:
        """Images for points, in the dtype of the user's images."""
        return self.threat.image(p).to(self.threat.x.dtype)

    def evaluate(self, *points: torch.Tensor) -> list[_Asked]:
        """Scores of points, remembered or from the network; keeps the images that fool it."""
        known = [self._recall(p) for p in points]
        if all(asked is None for asked in known):  # the usual case: one pass for all of them
            many = [p if p.ndim > 4 else p[None] for p in points]
            found = self._score(torch.cat(many))
            parts = [a.split([len(p) for p in many]) for a in (found.score, found.fools)]
            shaped = zip(points, *parts, strict=True)
            known = [_Asked(p, *(a.reshape(p.shape[:-3]) for a in part)) for p, *part in shaped]
        asked = [self._complete(p, a) for p, a in zip(points, known, strict=True)]
        if points[0].ndim == 4:
            self.memory = (*asked, *self.memory)[:6]  # the points of the last three duels
        return asked

    def _recall(self, p: torch.Tensor) -> _Asked | None:
        """What is remembered of points, NaN where nothing is; None if nothing at all is."""
        if p.ndim > 4:
            return None
        score, fools = torch.full_like(p[:, 0, 0, 0], torch.nan), torch.zeros_like(self.success)
        fools = fools[: len(p)]
        for asked in self.memory:
            if not bool((asked.p[:, 0, 0, 0] == p[:, 0, 0, 0]).any()):  # nearly always, and cheap
                continue
            same = (asked.p == p).flatten(1).all(1)
            score, fools = (
                torch.where(same, asked.score, score),
                torch.where(same, asked.fools, fools),
            )
        return None if bool(score.isnan().all()) else _Asked(p, score, fools)

    def _complete(self, p: torch.Tensor, known: _Asked | None) -> _Asked:
        """Ask the network about the points that are not remembered."""
        if known is None:
            return self._complete(p, _Asked(p, *(a[0] for a in self._score(p[None])[1:])))
        if p.ndim == 4 and bool(known.score.isnan().any()):
            new = torch.nonzero(known.score.isnan())[:, 0]
            found = self._score(p[new][None], new)
            known.score[new], known.fools[new] = found.score[0], found.fools[0]
        return known

    def _score(self, p: torch.Tensor, which: torch.Tensor | None = None) -> _Asked:
        """Scores from the network, of points (m, k, channels, height, width)."""
        threat, live = self.threat, self.live
        if which is not None:
            threat, live = threat.take(which), live[which]
        parts = []
        for block in p.split(max(1, self.judge_.batch_size // len(live))):  # that fit one pass
            images = threat.image(block).to(threat.x.dtype)
            index = live.expand(block.shape[:2]).reshape(-1)
            score, fools = self.judge_.judge(images.flatten(0, 1), index)
            score = score.to(p.dtype).reshape(block.shape[:2])
            self.passes[live] += len(block)
            parts.append((score, self._see(live, score, fools.reshape(score.shape), images)))
        return _Asked(p, *(torch.cat(a) for a in zip(*parts, strict=True)))

    def _see(
        self, live: torch.Tensor, score: torch.Tensor, fools: torch.Tensor, images: torch.Tensor
    ) -> torch.Tensor:
        """Keep what is new: the highest scores, and the first image of each problem that fools.

        Returns which fool the network itself, with arguments of shape (m, k, ...).
        """
        self.top[live] = torch.maximum(self.top[live], score.amax(0))
        if not bool(fools.any()):
            return fools
        if self.judge_.dtype is not None:  # a copy in low precision said so
            rows, columns = torch.nonzero(fools, as_tuple=True)
            _, sure = self.judge_.judge(images[rows, columns], live[columns], exact=True)
            self.passes.index_add_(0, live[columns], torch.ones_like(columns))
            fools = fools.index_put((rows, columns), sure)
        first = fools.to(torch.int8).argmax(0)
        new = fools.any(0) & ~self.success[live]
        columns = torch.nonzero(new)[:, 0]
        self.images[live[columns]] = images[first[columns], columns]
        self.success[live[columns]] = True
        return fools

    def slopes(self, p: torch.Tensor) -> torch.Tensor:
        """Derivatives of the scores at p, which is looked at as well."""
        parts = []
        for which in torch.arange(len(p), device=p.device).split(self.judge_.batch_size):
            threat, live = self.threat.take(which), self.live[which]
            score, fools, g = self.judge_.slopes(
                lambda q, t=threat: t.image(q).to(t.x.dtype), p[which], live
            )
            self.passes[live] += 1
            images = threat.image(p[which]).to(threat.x.dtype)
            self._see(live, score.to(p.dtype)[None], fools[None], images[None])
            parts.append(g)
        return torch.cat(parts)

    @property
    def judge_(self) -> Judge:
        """The judge, where there has to be one."""
        assert self.judge is not None
        return self.judge

    # -- records -----------------------------------------------------------------------------------

    def record(self) -> None:
        """Append to the history, and thin it by half when it has grown long."""
        h = self.history
        if h.iteration and h.iteration[-1] == self.iteration:
            for f in fields(h):  # the end may come in the middle of an iteration
                del getattr(h, f.name)[-1:]
        h.iteration.append(self.iteration)
        h.comparisons.append(self.spent if self.sees == "comparisons" else 0)
        h.forward_passes.append(int(self.passes.sum()))
        h.seconds.append(time.perf_counter() - self.began)
        h.success.append(float(self.success.float().mean()))
        if self.judge is not None:
            h.score.append(float(self.top.mean()))
        self.stride = thin(h, self.stride)
        if self.show is not None:
            self.show(self.iteration, self.spent)

    def progress(self) -> AttackProgress:
        n = len(self.success)
        seconds = time.perf_counter() - self.began
        return AttackProgress(self.iteration, self.spent, n, n - len(self.live), seconds)


class _evaluating:
    """Put a network in eval mode, and back."""

    def __init__(self, model: Any) -> None:
        self.model = model if isinstance(model, nn.Module) and model.training else None

    def __enter__(self) -> None:
        if self.model is not None:
            self.model.eval()

    def __exit__(self, *_: object) -> None:
        if self.model is not None:
            self.model.train()
