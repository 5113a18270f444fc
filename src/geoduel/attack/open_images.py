"""The images under attack: which are still open, what was found, and what the network said."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._torch import torch
from .arguments import as_number
from .judge import Judge
from .result import Trace
from .threat import Threat

__all__ = ["Asked", "OpenImages"]

REMEMBERED = 6  # arrays of points: those of the last three duels


class Asked(NamedTuple):
    """Points that were asked about, with their scores and whether they fool, for each image."""

    p: torch.Tensor
    score: torch.Tensor
    fools: torch.Tensor

    def take(self, keep: torch.Tensor) -> Asked:
        """The same for these images only."""
        return Asked(*(a[keep] for a in self))


class OpenImages:
    """Images; each is open until one of its perturbations fools the network.

    Points have shape (..., k, channels, height, width), one a live image. The last points are
    remembered, so that an incumbent costs no second pass.

    Parameters
    ----------
    threat : Threat
        The images and the sphere around each.
    judge : Judge or None
        The network; None if nothing tells when an image is fooled.
    smallest : bool
        Whether images stay open when they are fooled, to be fooled by less.

    Attributes
    ----------
    live : torch.Tensor of int, shape (k,)
        Numbers of the images that are open.
    threat : Threat
        Of the live images, with the radius that is asked about now.
    goal : torch.Tensor of shape (n,)
        The radius within which a perturbation counts as a success; infinite with ``smallest``.
    images, success : torch.Tensor of shape (n, ...)
        For every image, the nearest that fools the network or else the image itself, and whether
        it does within the goal.
    radii : torch.Tensor of shape (n,)
        How far that is, infinite where nothing fooled so far.
    done : torch.Tensor of bool, shape (n,)
        Which images `close_done` closes.
    trace : Trace
        When each image was fooled, by how much.
    passes, top : torch.Tensor of shape (n,)
        For every image, passes through the network, and the highest score so far.
    """

    def __init__(self, threat: Threat, judge: Judge | None, smallest: bool = False) -> None:
        x = threat.x
        n, device = len(x), x.device
        self.threat = threat
        self.judge: Any = judge  # None only where no scores are asked for
        self.live = torch.arange(n, device=device)
        self.images = x.clone()
        self.smallest = smallest
        self.goal = torch.full_like(threat.radius, torch.inf) if smallest else threat.radius
        self.radii = torch.full_like(threat.radius, torch.inf)
        self.success = torch.zeros(n, dtype=torch.bool, device=device)
        self.done = self.success.clone()
        self.trace = Trace()
        self.passes = torch.zeros(n, dtype=torch.int64, device=device)
        self.top = torch.full((n,), -torch.inf, device=device, dtype=as_number(x.dtype))
        self.memory: tuple[Asked, ...] = ()

    def __len__(self) -> int:
        return len(self.live)

    def picture(self, p: torch.Tensor) -> torch.Tensor:
        """Images for points, in the dtype of the user's images."""
        return self.threat.image(p).to(self.threat.x.dtype)

    def look(self) -> None:
        """Ask about the images as they are, since some may fool the network already."""
        score, fools = self.judge.judge(self.threat.x, self.live, exact=True)
        self.passes += 1
        self.top = score.to(self.top)
        which = torch.nonzero(fools)[:, 0]
        self._keep(which, self.threat.x[which], self.passes[which])
        self.done |= fools

    def resize(self, radius: torch.Tensor) -> None:
        """Ask about other radii from now on, shape (k,); what changed is forgotten."""
        changed = radius != self.threat.radius
        self.threat = self.threat.at(radius)
        for asked in self.memory:
            asked.score[changed] = torch.nan

    def close_done(self) -> torch.Tensor | None:
        """Go on with the images that are not done; their places among the live ones, if fewer."""
        done = self.done[self.live]
        if not bool(done.any()):
            return None
        keep = torch.nonzero(~done)[:, 0]
        self.live, self.threat = self.live[keep], self.threat.take(keep)
        self.memory = tuple(asked.take(keep) for asked in self.memory)
        return keep

    def ask(self, *points: torch.Tensor, only: torch.Tensor | None = None) -> list[Asked]:
        """Scores of points, from memory or from the network; the images that fool it are kept.

        ``only``: which live images the network may be asked about, (k,). The scores of others are
        NaN, unless they are remembered.
        """
        asked = [self._recalled(p) for p in points]
        if only is None and all(bool(a.score.isnan().all()) for a in asked):  # one pass for all
            many = [p if p.ndim > 4 else p[None] for p in points]
            found = self._judged(torch.cat(many))
            parts = zip(points, *(a.split([len(p) for p in many]) for a in found), strict=True)
            asked = [Asked(p, *(a.reshape(p.shape[:-3]) for a in part)) for p, *part in parts]
        for p, score, fools in asked:
            unknown = score.isnan() if only is None else score.isnan() & only
            if bool(unknown.any()):
                new = torch.nonzero(unknown)[:, 0]
                score[new], fools[new] = (a[0] for a in self._judged(p[new][None], new))
        if points[0].ndim == 4:
            self.memory = (*asked, *self.memory)[:REMEMBERED]
        return asked

    def slopes(self, p: torch.Tensor) -> torch.Tensor:
        """Derivatives of the scores at points of shape (k, ...), which are looked at as well."""
        parts = []
        for which in torch.arange(len(p), device=p.device).split(self.judge.batch_size):
            threat, live = self.threat.take(which), self.live[which]
            score, fools, g = self.judge.slopes(
                lambda q, t=threat: t.image(q).to(t.x.dtype), p[which], live
            )
            self.passes[live] += 1
            images = threat.image(p[which]).to(threat.x.dtype)
            self._see(threat, live, score.to(p.dtype)[None], fools[None], images[None])
            parts.append(g)
        return torch.cat(parts)

    # -- private -----------------------------------------------------------------------------------

    def _recalled(self, p: torch.Tensor) -> Asked:
        """Remembered results at points; the score is NaN where there is none."""
        score = torch.full_like(p[..., 0, 0, 0], torch.nan)
        fools = torch.zeros_like(score, dtype=torch.bool)
        for asked in self.memory if p.ndim == 4 else ():
            if not bool((asked.p[:, 0, 0, 0] == p[:, 0, 0, 0]).any()):  # nearly always, and cheap
                continue
            same = (asked.p == p).flatten(1).all(1)
            score = torch.where(same, asked.score, score)
            fools = torch.where(same, asked.fools, fools)
        return Asked(p, score, fools)

    def _judged(
        self, p: torch.Tensor, which: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores from the network, and which fool it, for points of shape (m, k, ...)."""
        threat, live = self.threat, self.live
        if which is not None:
            threat, live = threat.take(which), live[which]
        parts = []
        for block in p.split(max(1, self.judge.batch_size // len(live))):  # that fit one pass
            images = threat.image(block).to(threat.x.dtype)
            index = live.expand(block.shape[:2]).reshape(-1)
            score, fools = self.judge.judge(images.flatten(0, 1), index)
            score = score.to(p.dtype).reshape(block.shape[:2])
            self.passes[live] += len(block)
            fools = self._see(threat, live, score, fools.reshape(score.shape), images)
            parts.append((score, fools))
        score, fools = (torch.cat(a) for a in zip(*parts, strict=True))
        return score, fools

    def _see(
        self,
        threat: Threat,
        live: torch.Tensor,
        score: torch.Tensor,
        fools: torch.Tensor,
        images: torch.Tensor,
    ) -> torch.Tensor:
        """Keep what is new: the highest scores, and the first picture of each image that fools.

        Arguments have shape (m, k, ...). Returns which of them fool the network itself.
        """
        self.top[live] = torch.maximum(self.top[live], score.amax(0))
        if not bool(fools.any()):
            return fools
        if self.judge.dtype is not None:  # a copy in low precision said so
            rows, columns = torch.nonzero(fools, as_tuple=True)
            _, sure = self.judge.judge(images[rows, columns], live[columns], exact=True)
            self.passes.index_add_(0, live[columns], torch.ones_like(columns))
            fools = fools.index_put((rows, columns), sure)
        first = fools.to(torch.int8).argmax(0)
        new = torch.nonzero(fools.any(0) & ~self.done[live])[:, 0]
        passes = self.passes[live] - len(fools) + 1 + first
        self._keep(live[new], images[first[new], new], passes[new], threat.take(new))
        return fools

    def _keep(
        self,
        which: torch.Tensor,
        images: torch.Tensor,
        passes: torch.Tensor,
        threat: Threat | None = None,
    ) -> None:
        """Keep pictures of images that fool and are nearer than those before."""
        threat = self.threat.take(which) if threat is None else threat
        size = threat.size(images)
        nearer = size < self.radii[which]
        which, images, passes = which[nearer], images[nearer], passes[nearer]
        if not len(which):
            return
        threat = threat.take(nearer)
        self.images[which], self.radii[which] = images, size[nearer]
        self.trace.add(which, passes, threat.size(images, "l2"), threat.size(images, "linf"))
        within = (threat.radius <= self.goal[which]) | (size[nearer] == 0)
        self.success[which] |= within
        if not self.smallest:
            self.done |= self.success
