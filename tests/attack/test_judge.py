"""How adversarial an image is, by logits; what is no logits is refused."""

from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

from geoduel.attack import Judge, attack  # noqa: E402
from geoduel.errors import OracleError, TiesWarning  # noqa: E402


def test_the_loss_is_the_cross_entropy():
    logits = torch.tensor([[2.0, -1.0, 0.5], [100.0, 0.0, -50.0]], dtype=torch.float64)
    labels = torch.tensor([2, 0])
    judge = Judge(lambda z: logits, labels, "loss")
    score, fools = judge.judge(torch.zeros(2, 1, 2, 2), torch.arange(2))
    torch.testing.assert_close(
        score, torch.nn.functional.cross_entropy(logits, labels, reduction="none")
    )
    assert score[1] > 0  # e^-100, which the usual formula rounds away
    assert fools.tolist() == [True, False]


def test_wrong_logits_are_refused(grey):
    with pytest.raises(OracleError, match="logits"):
        attack(lambda z: z, grey(), radius=0.1, budget=2)
    with pytest.raises(OracleError, match="ZeroDivisionError"):
        attack(lambda z: 1 / 0, grey(), radius=0.1, budget=2)
    with pytest.raises(OracleError, match="finite"):
        attack(lambda z: torch.full((len(z), 2), torch.nan), grey(), radius=0.1, budget=2)


def test_half_precision_is_checked_by_the_network_itself(linear, grey):
    x = grey()
    settings = {"budget": 300, "rng": 0, "directions": "all"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TiesWarning)  # this network's margins are small numbers
        result = attack(linear(), x, radius=0.5, dtype=torch.bfloat16, **settings)
        close = attack(linear(), x, radius=0.1999, dtype=torch.bfloat16, **settings)
        half = attack(linear(dtype=torch.bfloat16), x.bfloat16(), radius=0.5, **settings)
    assert result.success.all()
    assert (linear()(result.images).argmax(1) == 1).all()
    assert not close.success.any()  # rounding alone would carry images over
    assert half.images.dtype == torch.bfloat16
    assert half.success.all()


def test_the_margin_is_the_largest_other_logit_less_the_own():
    logits = torch.tensor([[2.0, -1.0, 0.5], [0.0, 3.0, 1.0]])
    images, numbers = torch.zeros(2, 1, 2, 2), torch.arange(2)
    for targeted, sign in ((False, 1), (True, -1)):
        judge = Judge(lambda z: logits, torch.tensor([2, 1]), "margin", targeted)
        score, fools = judge.judge(images, numbers)
        assert score.tolist() == [sign * 1.5, sign * -2.0]
        assert fools.tolist() == [not targeted, targeted]
