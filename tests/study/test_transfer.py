"""Exports: whole, unaltered, and the same study wherever they are taken in."""

from __future__ import annotations

import json

import pytest

import geoduel as gd
from geoduel import errors
from geoduel.study.log import Row, chain
from geoduel.study.transfer import export_text, read_export, write_export

SPHERE = gd.Sphere(3)


def create(**more) -> gd.Study:
    return gd.create_study(SPHERE, "duel-newton", rng=3, **more)


def play(study: gd.Study, answer, count: int) -> None:
    while len(study.duels) < count:
        duel = study.ask()
        study.tell(duel, answer(duel))


def history(study: gd.Study):
    return [(d.id, d.a.tolist(), d.b.tolist(), d.role, d.left, d.answer) for d in study.duels]


def test_what_is_written_is_read(tmp_path):
    """With no events, too; names and settings may hold any text."""
    first = chain("0" * 32, "{}")
    for rows in ([], [Row(1, "{}", first), Row(2, "{}", chain(first, "{}"))]):
        text = export_text("ä\n", {"format": 2, "x": "\u2028"}, rows)
        write_export(tmp_path / "study.jsonl", text)
        assert read_export(tmp_path / "study.jsonl") == ("ä\n", {"format": 2, "x": "\u2028"}, rows)


def test_a_later_format_is_refused(tmp_path):
    head = {"geoduel": "study", "format": 99, "name": "s", "settings": {}}
    tail = {"events": 0, "digest": "0" * 32}
    (tmp_path / "study.jsonl").write_text(f"{json.dumps(head)}\n{json.dumps(tail)}\n")
    with pytest.raises(errors.ReplayError, match="has format 99"):
        read_export(tmp_path / "study.jsonl")


def test_export_and_import(tmp_path, url, north):
    study = create(study_name="first")
    play(study, north, 25)
    study.set_user_attr("camera", {"lens": 35})
    path = tmp_path / "study.jsonl"
    text = study.export(path)
    assert path.read_text() == text
    assert all(json.loads(line) for line in text.splitlines())
    copy = gd.import_study(path, url, study_name="second")
    assert history(copy) == history(study)
    assert copy.user_attrs == {"camera": {"lens": 35}}
    play(study, north, 40)
    play(copy, north, 40)
    assert history(copy) == history(study)
    assert gd.study_names(url) == ["second"]
    with pytest.raises(errors.DuplicateStudyError, match="second"):
        gd.import_study(path, url, study_name="second")


def test_altered_and_cut_exports_are_refused(tmp_path, north):
    study = create()
    play(study, north, 8)
    lines = study.export().splitlines()
    path = tmp_path / "study.jsonl"
    turned = [line.replace('"answer":"a"', '"answer":"b"') for line in lines]
    assert turned != lines
    for text, error, words in [
        ("\n".join(lines[:-1]), errors.ArgumentError, "not all of it"),
        ("\n".join(lines[:5] + lines[6:]), errors.ArgumentError, "not all of it"),
        ("\n".join(turned), errors.ReplayError, "altered"),
        ("hello", errors.ArgumentError, "no export"),
        ("", errors.ArgumentError, "no export"),
    ]:
        path.write_text(text)
        with pytest.raises(error, match=words):
            gd.import_study(path)
    with pytest.raises(errors.StorageError, match="cannot be written"):
        study.export(tmp_path / "absent" / "study.jsonl")
    assert [f.name for f in tmp_path.iterdir()] == ["study.jsonl"]
    with pytest.raises(errors.ArgumentError, match="cannot be read"):
        gd.import_study(tmp_path / "absent.jsonl")
