"""How adversarial an image is, by logits; what is no logits is refused."""

from __future__ import annotations

import dataclasses
import warnings
from collections import namedtuple

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


class Output:
    def __init__(self, logits):
        self.loss, self.logits = None, logits


@pytest.mark.parametrize(
    "wrap",
    [
        lambda z: (z, z.sum()),
        lambda z: [z],
        lambda z: {"logits": z, "hidden": None},
        Output,
        dataclasses.make_dataclass("Answer", ["logits"]),
        namedtuple("InceptionOutputs", ["logits", "aux_logits"], defaults=(None,)),
    ],
)
def test_logits_are_found_in_what_networks_return(wrap, linear, grey):
    model, x = linear(), grey()
    settings = {"radius": 0.4, "budget": 40, "rng": 0}
    wrapped = attack(lambda z: wrap(model(z)), x, **settings)
    assert torch.equal(wrapped.images, attack(model, x, **settings).images)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ({"out": 1, "aux": 2}, "dict with the keys 'out', 'aux'"),
        ((), "answered with tuple"),
        ((None, 1), "tuple that holds NoneType"),
        (Output(3.0), "Output that holds float"),
        (None, "NoneType"),
        (1.5, "float"),
        (torch.full((3, 2), 1j), "complex64, expected real logits"),
    ],
)
def test_outputs_without_logits_are_named(output, words, grey):
    with pytest.raises(OracleError, match=words):
        attack(lambda z: output, grey(), radius=0.1, budget=2)


def test_labels_alone_tell_which_side():
    judge = Judge(lambda z: torch.tensor([2, 7, 1]), torch.tensor([2, 1, 1]), "label")
    score, fools = judge.judge(torch.zeros(3, 1, 2, 2), torch.arange(3))
    assert score.tolist() == [-1, 1, -1]
    assert fools.tolist() == [False, True, False]
    image, label = torch.zeros(1, 1, 2, 2), torch.tensor([0])
    with pytest.raises(OracleError, match="class -1"):
        Judge(lambda z: torch.tensor([-1]), label, "label").logits(image)
    with pytest.raises(OracleError, match="shape"):  # a margin needs logits
        Judge(lambda z: label, label).logits(image)
