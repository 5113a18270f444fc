"""An oracle behind an interface: it may fail, it is asked once, and its log resumes."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")

from geoduel.attack import Remote, attack  # noqa: E402
from geoduel.errors import ArgumentError, OracleError  # noqa: E402


class Server:
    """A remote interface that counts, and fails now and then."""

    def __init__(self, model, fail=()):
        self.model, self.fail, self.calls, self.pairs = model, set(fail), 0, 0

    def __call__(self, a, b):
        self.calls += 1
        if self.calls in self.fail:
            raise ConnectionError("try again")
        self.pairs += len(a)
        margin = [self.model(z)[:, 1] - self.model(z)[:, 0] for z in (a, b)]
        return torch.sign(margin[1] - margin[0])


@pytest.fixture
def run(grey):
    """Attack through a server, and give back the wrapper, too."""

    def run(server, model=None, budget=60, **settings):
        remote = Remote(server, wait=0, **settings)
        result = attack(model, grey(), radius=0.4, budget=budget, rng=0, oracle=remote)
        return result, remote

    return run


def test_a_remote_oracle_is_followed_like_the_network(linear, grey):
    own = attack(linear(), grey(), radius=0.19, budget=60, rng=0)
    far = attack(None, grey(), radius=0.19, budget=60, rng=0, oracle=Server(linear()))
    assert torch.equal(own.images, far.images)
    assert not far.success.any()  # nobody said
    assert far.forward_passes.sum() == 0
    seen = attack(linear(), grey(), radius=0.6, budget=200, rng=0, oracle=Server(linear()))
    assert seen.success.all()


def test_remote_batches_and_retries(linear, run):
    server = Server(linear(), fail=[2, 3])
    result, remote = run(server, batch_size=2)
    assert result.stop_reason == "budget"
    assert remote.sent == server.pairs == 180
    assert server.calls == 2 * 60 + 2
    with pytest.raises(OracleError, match="ConnectionError"):
        run(Server(linear(), fail=range(1, 9)), retries=2)


def test_the_remote_budget_is_hard(linear, grey, run):
    server = Server(linear())
    result, _ = run(server, budget=100)
    assert server.pairs == 300
    server = Server(linear())
    remote = Remote(server, budget=100)
    result = attack(None, grey(), radius=0.4, budget=100, rng=0, oracle=remote)
    assert result.stop_reason == "budget"
    assert server.pairs <= 100


def test_a_log_resumes(tmp_path, linear, run):
    log = tmp_path / "answers.jsonl"
    whole, _ = run(Server(linear()), log=tmp_path / "other.jsonl")
    with pytest.raises(OracleError):
        run(Server(linear(), fail=range(30, 99)), retries=0, log=log)
    with log.open("a") as file:
        file.write('{"pair": "cut o')  # the process died in the middle of a line
    rest = Server(linear())
    resumed, remote = run(rest, log=log)
    assert torch.equal(resumed.images, whole.images)
    assert rest.pairs == 180 - 29 * 3
    assert remote.sent == 180
    again = Server(linear())
    run(again, log=log)
    assert again.pairs == 0
    log.write_text("no json\n")
    with pytest.raises(ArgumentError, match="line 1"):
        Remote(Server(linear()), log=log)


def test_remote_is_told_which_image(grey):
    told = []

    def compare(images_a, images_b, index):
        told.extend(index.tolist())
        return torch.ones(len(images_a))

    attack(None, grey(), radius=0.1, budget=2, rng=0, oracle=compare)
    assert told == [0, 1, 2, 0, 1, 2]


def test_wrong_answers_are_refused(grey):
    for answer in (lambda a, b: torch.full((len(a),), 0.5), lambda a, b: 1, lambda a, b: None):
        with pytest.raises(OracleError):
            attack(None, grey(), radius=0.1, budget=2, oracle=Remote(answer, retries=0))


def test_waits_double(monkeypatch, linear, grey):
    waits = []
    monkeypatch.setattr("geoduel.oracles.retried.time.sleep", waits.append)
    remote = Remote(Server(linear(), fail=[1, 2, 3]), wait=0.5, retries=3)
    with torch.no_grad():
        assert remote(grey(), 0.9 * grey()).shape == (3,)
    assert waits == [0.5, 1.0, 2.0]
    assert remote.compare.calls == 4


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"compare": "nobody"}, "compare"),
        ({"retries": -1}, "retries"),
        ({"wait": -1.0}, "wait"),
        ({"batch_size": 0}, "batch_size"),
        ({"budget": 0}, "budget"),
    ],
)
def test_wrong_settings_are_named(settings, words):
    with pytest.raises(ArgumentError, match=words):
        Remote(**({"compare": lambda a, b: 0} | settings))
