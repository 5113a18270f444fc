"""The command: pictures that are classified right, the files it writes, what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra attack")
pytest.importorskip("safetensors", reason="needs the extra attack")
pytest.importorskip("sklearn", reason="needs the extra attack")
pytest.importorskip("PIL", reason="needs the extra attack")

from geoduel.attack import Pictures, attack  # noqa: E402
from geoduel.attack.command import DIGITS, prepared, usual_eps  # noqa: E402
from geoduel.cli import main  # noqa: E402
from geoduel.errors import ArgumentError  # noqa: E402


def test_prepared_pictures_are_classified_right(tmp_path):
    network, pictures = prepared("digits", None, 12, among=(30, 90))
    assert len(pictures) == 12
    assert (network(pictures.images).argmax(1) == pictures.labels).all()
    from PIL import Image

    Image.fromarray(np.zeros((32, 32, 3), np.uint8)).save(tmp_path / "0.png")
    with pytest.raises(ArgumentError, match="weights"):
        prepared(str(tmp_path), None, 3)


def test_command(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib", reason="needs the extra plot")
    out = tmp_path / "made"
    command = ["attack", "--n", "6", "--budget", "20", "--methods", "auto,evolution,rgd"]
    assert main([*command, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "misclassified" in said
    for name in ("progress.png", "pictures.png", "table.csv", "images.json"):
        assert (out / name).stat().st_size > 0
        assert name in said.replace("\n", "")
    record = json.loads((out / "images.json").read_text())
    assert set(record["results"]) == {"auto", "evolution", "rgd"}
    assert len(record["results"]["auto"]["success"]) == 6


def test_train_and_attack_an_architecture(tmp_path, capsys):
    out = tmp_path / "w.safetensors"
    command = ["attack", "train", "--data", "digits", "--architecture", "strided", "--epochs", "1"]
    assert main([*command, "--out", str(out)]) == 0
    assert "% of 599 test pictures" in capsys.readouterr().out
    network, pictures = prepared("digits", out, 12, architecture="strided")
    assert (network(pictures.images).argmax(1) == pictures.labels).all()
    with pytest.raises(ArgumentError, match="another network"):
        prepared("digits", out, 12, architecture="mixer")


def test_command_from_labels_alone(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="needs the extra plot")
    options = ["--oracle", "label", "--smallest", "--norm", "linf", "--methods", "auto"]
    command = ["attack", "--n", "4", "--budget", "60", "--out", str(tmp_path)]
    assert main([*command, *options]) == 0
    said = capsys.readouterr().out
    assert "robust accuracy" in said
    assert "sees labels, L∞" in said
    record = json.loads((tmp_path / "images.json").read_text())["results"]["auto"]
    assert all(n <= 121 for n in record["forward_passes"])
    assert all(0 < r < 1 for r in record["radii"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--data", "nowhere"], "nowhere"),
        (["--methods", "newton"], "method"),
        (["--methods", " "], "--methods"),
        (["--device", "abacus"], "--device"),
        (["train", "--data", "nowhere"], "nowhere"),
        (["train", "--data", "digits", "--architecture", "abacus"], "architecture"),
        (["train", "--data", "digits"], "VGG-11"),
    ],
)
def test_command_says_what_is_wrong(tmp_path, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert main(["attack", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_half_of_cifar10_within_a_hundred_comparisons(shared):
    folder = shared / "cifar10"
    if not folder.is_dir():
        pytest.skip("no reference network: ../shared/cifar10 is absent")
    network, pictures = prepared(str(folder), None, 50)
    result = attack(network, pictures.images, pictures.labels, budget=300, rng=0)
    assert result.success_after(100) > 0.5
    assert result.success_after(300) >= 0.72
    assert isinstance(pictures, Pictures)


def test_digits_need_a_wider_sphere(capsys):
    assert (usual_eps(DIGITS), usual_eps("cifar10"), usual_eps("a/folder")) == (0.3, 0.05, 0.05)
    assert main(["attack", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "by default 0.05, for digits 0.3" in said
