"""Exports: whole, unaltered, and the same study wherever they are taken in."""

from __future__ import annotations

import json

import pytest

import geoduel as gd
from geoduel import errors
from geoduel.study import transfer
from geoduel.study.log import EMPTY, Row, chain
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


HEAD = {"geoduel": "study", "format": 2, "name": "s", "settings": {}}
TAIL = {"events": 0, "digest": EMPTY}


def first_and_last(head, tail, path):
    path.write_text(f"{json.dumps(head)}\n{json.dumps(tail)}\n")
    return read_export(path)


def test_each_field_of_an_export_is_there_and_of_its_type(tmp_path):
    path = tmp_path / "study.jsonl"
    assert first_and_last(HEAD, TAIL, path) == ("s", {}, [])
    heads = [{"geoduel": "x"}, {"format": "2"}, {"format": True}, {"format": 2.0}, {"name": 5}]
    heads += [{"settings": []}, {"settings": None}]
    wrong = [(HEAD | change, TAIL) for change in heads]
    wrong += [(HEAD, TAIL | {"events": count}) for count in ("0", False, 0.0, 1, -1, None)]
    wrong += [({k: HEAD[k] for k in HEAD if k != name}, TAIL) for name in HEAD]
    wrong += [(HEAD, {k: TAIL[k] for k in TAIL if k != name}) for name in TAIL]
    for head, tail in wrong:
        with pytest.raises(errors.MalformedExportError, match="is no export of a study, or not"):
            first_and_last(head, tail, path)


def test_as_much_as_is_allowed_is_read(tmp_path, monkeypatch):
    path, first = tmp_path / "study.jsonl", chain(EMPTY, "{}")
    write_export(path, export_text("s", {"format": 2}, [Row(1, "{}", first)]))
    for limit, most in {"MOST_BYTES": path.stat().st_size, "MOST_EVENTS": 1}.items():
        with monkeypatch.context() as patch:
            patch.setattr(transfer, limit, most)
            assert len(read_export(path).rows) == 1
            patch.setattr(transfer, limit, most - 1)
            with pytest.raises(errors.MalformedExportError, match=f"beyond {most - 1}"):
                read_export(path)


def test_a_file_that_is_not_there_is_no_broken_export(tmp_path):
    with pytest.raises(errors.ArgumentError, match="cannot be read") as error:
        read_export(tmp_path / "study.jsonl")
    assert not isinstance(error.value, errors.MalformedExportError)


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
