"""Files of somebody else: one error that says where, and nothing stored that cannot be used."""

from __future__ import annotations

import copy
import json
import random
import re
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples.nudge import Nudge

import geoduel as gd
from geoduel import errors
from geoduel.study import intake
from geoduel.study.log import EMPTY, chain, seal
from geoduel.study.ranking import MOST_CHOICES
from geoduel.study.storage import MemoryStorage

SPHERE = gd.Sphere(3)
KINDS: dict[str, dict[str, Any]] = {
    "newton": {"method": "duel-newton"},
    "votes": {"method": "rdngd", "budget": 40, "votes": 3, "repeats": 0.4},
    "bisection": {"manifold": gd.Torus(1), "method": "bisection", "x0": np.zeros(1)},
    "rankings": {"method": "ideal-point", "choices": 4},
    "mixed": {"manifold": gd.space(kind=["a", "b"], layers=range(1, 5), turn=gd.Torus(1))},
}
SLOW = {"rankings": 5}  # answers where each takes long
FEW = {"bisection": 30, "rankings": 8, "mixed": 50}  # files of those whose replay takes long


def made(kind: str) -> list[dict[str, Any]]:
    """The lines of an export in which everything occurs."""
    options = {"manifold": SPHERE, "rng": 0, "study_name": "s", **KINDS[kind]}
    study = gd.create_study(**options)
    for i in range(SLOW.get(kind, 12)):
        duel = (study.open_duels or [study.ask(rater=("ann", "bob", None)[i % 3])])[0]
        words = ("a", "b", "tie", "a", "skip")
        if len(duel.points) > 2:
            words = ("c", "d>bc>a", "tie", "c>b=d>a", "b>a")
        study.tell(duel, words[i % 5])
        if i == min(6, SLOW.get(kind, 6) - 2):
            study.undo()
    if kind == "bisection":
        study.report_preference(np.array([0.1]), np.array([0.2]), rater="eve")
    study.set_user_attr("room", {"n": [1, 2.5, None, "x"]})
    study.ask(rater="ann")
    return [json.loads(line) for line in study.export().splitlines()]


def write(path: Path, lines: list[Any], sealed: bool = True) -> Path:
    """Lines as a file whose digests are right, whatever they hold."""
    head, *events, tail = copy.deepcopy(lines)
    if sealed and isinstance(head, dict) and isinstance(head.get("settings"), dict):
        for event in events:
            if isinstance(event, dict) and event.get("kind") == "settings":
                event["digest"] = seal(head["settings"])
    texts, digest = [], EMPTY
    for event in events:
        texts.append(json.dumps(event, separators=(",", ":")))
        digest = chain(digest, texts[-1])
    if isinstance(tail, dict):
        tail = {"events": len(events), "digest": digest}
    path.write_text("\n".join([json.dumps(head), *texts, json.dumps(tail)]) + "\n")
    return path


@pytest.fixture(scope="module")
def exports() -> dict[str, list[dict[str, Any]]]:
    return {kind: made(kind) for kind in KINDS}


def first(lines: list[Any], kind: str) -> dict[str, Any]:
    return next(line for line in lines[1:-1] if line["kind"] == kind)


# -- by hand: each of these was accepted once, or ended in a raw error -----------------------------


@pytest.mark.parametrize(
    ("kind", "field", "value", "words"),
    [
        ("question", "holder", "abc", "holder of this question must be host:process:thread"),
        ("question", "holder", f"{'0' * 8}:{'9' * 40}:1", "holder"),
        ("question", "time", "now", "time of this question must be seconds"),
        ("question", "time", -1, "time"),
        ("question", "a", [float("nan")] * 3, "NaN is no number of JSON"),
        ("question", "a", [0, 0, 0], "line 3: a is no point"),
        ("question", "b", [0, 0, 2], "line 3: b is no point"),
        ("question", "b", [10**400, 0, 0], "b must be numbers of shape"),
        ("question", "b", [[1, 0], [0]], "b must be numbers of shape"),
        ("question", "b", ["1", "0", "0"], "b must be numbers of shape"),
        ("question", "b", [1, 0], "b must be numbers of shape"),
        ("question", "duel", 7, "does not fit what is before it"),
        ("question", "duel", -1, "duel of this question must be a whole number"),
        ("question", "left", "c", "left of this question"),
        ("question", "role", "joke", "role of this question"),
        ("question", "of", 5, "does not fit"),
        ("question", "at", [0, 0], "at of this question"),
        ("answer", "answer", "c", "answer of this answer must be one of"),
        ("answer", "answer", "", "answer of this answer must be one of"),
        ("answer", "duel", -1, "duel"),
        ("answer", "duel", 99, "does not fit"),
        ("answer", "rater", "\ud800", "rater"),
        ("undo", "number", 2, "does not fit"),
        ("attribute", "key", 3, "key of this attribute must be a text"),
        ("result", "point", [0, 0, 0], "point is no point"),
        ("result", "uncertainty", "x", "uncertainty"),
        ("upgrade", "version", None, "version of this upgrade"),
    ],
)
def test_events_that_no_study_writes(kind, field, value, words, exports, tmp_path):
    lines = copy.deepcopy(exports["newton"])
    if kind == "upgrade":
        lines.insert(3, {"kind": "upgrade", "time": 1.0})
    first(lines, kind)[field] = value
    path = write(tmp_path / "s.jsonl", lines)
    storage = MemoryStorage()
    with pytest.raises(errors.MalformedExportError, match=words):
        gd.import_study(path, storage)
    assert storage.names() == []


def test_questions_that_the_method_never_asked(exports, tmp_path):
    """An open one would lock the study: its answer could not be replayed."""
    lines = copy.deepcopy(exports["newton"])
    *_, open_question = (line for line in lines if line.get("kind") == "question")
    for change in ({"a": [1.0, 0.0, 0.0]}, {"at": [99, 0]}, {"at": [1, 99]}):
        old = {key: open_question[key] for key in change}
        open_question.update(change)
        with pytest.raises(errors.MalformedExportError, match="no study can be made"):
            gd.import_study(write(tmp_path / "s.jsonl", lines))
        open_question.update(old)
    assert gd.import_study(write(tmp_path / "s.jsonl", lines)).progress().open == 1


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("manifold", {"type": "Rotations", "n": 3000}, "9,000,000 numbers, beyond the 4,096"),
        ("manifold", {"type": "Sphere", "shape": [200_000_000]}, "shape|0 = 2e"),
        ("manifold", {"type": "Sphere", "shape": [50_000]}, "50,000 numbers"),
        ("manifold", {"type": "os.system", "n": 1}, "nothing called"),
        ("manifold", {"type": "Sphere"}, "Sphere"),
        ("manifold", {"type": "Sphere", "shape": [4]}, "manifold|shape"),
        ("shape", [5, [3]], "shape|manifold"),
        ("method", {"type": "RDNGD", "batch": 10**9}, "batch = 1e"),
        ("method", {"type": "RDNGD", "batch": 10**5}, None),
        ("method", {"type": "DuelNewton", "x_tol": -1}, "x_tol"),
        ("x0", {"type": "array", "dtype": "O", "entries": [0, 0, 1]}, "dtype"),
        ("x0", {"type": "array", "dtype": "float64", "entries": [0, 0, 2]}, "x0"),
        ("x0", {"type": "array", "dtype": "float64", "entries": [0, 0]}, "x0"),
        ("votes", 0, "votes is 0"),
        ("lease", "x", "lease is 'x'"),
    ],
)
def test_settings_that_no_study_writes(key, value, words, exports, tmp_path):
    """Sizes are found before anything of that size is made."""
    lines = copy.deepcopy(exports["newton"])
    lines[0]["settings"][key] = value
    if "numbers" in str(words):
        numbers = gd.Rotations(3000) if value["type"] == "Rotations" else gd.Sphere(50_000)
        lines[0]["settings"]["shape"] = [numbers.dim, list(numbers.point_shape)]
    with pytest.raises(errors.MalformedExportError, match=words):
        gd.import_study(write(tmp_path / "s.jsonl", lines))


@pytest.mark.parametrize("chunk", [1, 2, 5])
def test_points_are_checked_a_chunk_at_a_time_and_the_bad_one_is_named(
    chunk, exports, tmp_path, monkeypatch
):
    monkeypatch.setattr(intake, "CHUNK", chunk)
    lines = copy.deepcopy(exports["newton"])
    assert gd.import_study(write(tmp_path / "s.jsonl", lines)).name == "s"
    number = [i for i, line in enumerate(lines) if line.get("kind") == "question"][4]
    lines[number]["b"] = [0.0, 0.0, 2.0]
    with pytest.raises(errors.MalformedExportError, match=f"line {number + 1}: b is no point"):
        gd.import_study(write(tmp_path / "s.jsonl", lines))


def of_an_older_version(lines):
    """As a version wrote it whose logs held no results."""
    lines = copy.deepcopy(lines)
    lines[0]["format"] = lines[0]["settings"]["format"] = 1
    lines[0]["settings"]["method_version"] -= 1
    other = next(line for line in lines if line.get("kind") == "attribute")
    return [other if line.get("kind") in ("result", "settings") else line for line in lines]


def test_of_an_older_study_without_results_the_point_preferred_last_is_one(exports, tmp_path):
    lines = of_an_older_version(exports["newton"])
    with pytest.warns(errors.OlderStudyWarning):
        study = gd.import_study(write(tmp_path / "s.jsonl", lines))
    duel = [duel for duel in study.duels if duel.answer in ("a", "b")][-1]
    assert np.array_equal(study.recommend(), duel.a if duel.answer == "a" else duel.b)
    assert study.trace() == []
    other = next(line for line in lines if line.get("kind") == "attribute")
    nobody = [other if line.get("kind") in ("answer", "undo") else line for line in lines]
    with pytest.warns(errors.OlderStudyWarning):
        study = gd.import_study(write(tmp_path / "t.jsonl", nobody))
    start = gd.create_study(SPHERE, "duel-newton", rng=study.settings["seed"]).recommend()
    assert np.array_equal(study.recommend(), start)


def test_a_method_may_ask_ten_million_numbers_at_once():
    intake.check_size(gd.Sphere(4000), gd.RDNGD(batch=2500))
    with pytest.raises(errors.MalformedExportError, match="2,501 questions of 4,000 numbers at"):
        intake.check_size(gd.Sphere(4000), gd.RDNGD(batch=2501))


def test_a_caller_who_gives_the_manifold_may_have_large_points(tmp_path):
    manifold = gd.Sphere(5000)
    study = gd.create_study(manifold, "rdngd", budget=9, rng=0, study_name="s")
    study.tell(study.ask(), "a")
    study.export(tmp_path / "s.jsonl")
    with pytest.raises(errors.MalformedExportError, match=r"give manifold= if you mean it"):
        gd.import_study(tmp_path / "s.jsonl")
    assert gd.import_study(tmp_path / "s.jsonl", manifold=manifold).progress().answered == 1


@pytest.mark.parametrize(
    "text",
    ["", "hello", "\n", "null\nnull", "[]\n[]", "{}\n{}", "[" * 100_000, '{"a":' * 50_000, "\xe9"],
)
def test_files_that_are_no_export(text, tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(errors.MalformedExportError, match="no export of a study"):
        gd.import_study(path)


def test_nested_values(exports, tmp_path):
    deep = "[" * 1400 + "0" + "]" * 1400
    for change in (
        lambda lines: first(lines, "attribute").update(value="DEEP"),
        lambda lines: first(lines, "question").update(a="DEEP"),
        lambda lines: lines[0]["settings"].update(more="DEEP"),
    ):
        lines = copy.deepcopy(exports["newton"])
        change(lines)
        head, *events, _ = (json.dumps(line).replace('"DEEP"', deep) for line in lines)
        digest = EMPTY
        for line in events:
            digest = chain(digest, line)
        tail = json.dumps({"events": len(events), "digest": digest})
        (tmp_path / "s.jsonl").write_text("\n".join([head, *events, tail]))
        with pytest.raises(errors.MalformedExportError, match=r"nested|recursion|no export"):
            gd.import_study(tmp_path / "s.jsonl")


@pytest.mark.parametrize("number", ["1e999", "-1e309", "NaN", "Infinity"])
def test_numbers_that_no_export_could_hold_again(number, exports, tmp_path):
    lines = copy.deepcopy(exports["newton"])
    lines[0]["settings"]["created"] = "HUGE"
    path = write(tmp_path / "s.jsonl", lines)
    path.write_text(path.read_text().replace('"HUGE"', number))
    with pytest.raises(errors.MalformedExportError, match="no export"):
        gd.import_study(path)


def test_too_much_is_refused(exports, tmp_path, monkeypatch):
    path = write(tmp_path / "s.jsonl", exports["newton"])
    monkeypatch.setattr("geoduel.study.transfer.MOST_EVENTS", 5)
    with pytest.raises(errors.MalformedExportError, match="events, beyond 5"):
        gd.import_study(path)
    monkeypatch.setattr("geoduel.study.transfer.MOST_BYTES", 100)
    with pytest.raises(errors.MalformedExportError, match="bytes, beyond 100"):
        gd.import_study(path)
    assert intake.MOST_EVENTS >= 300_001  # 100,000 questions, answers and results


# -- by chance -------------------------------------------------------------------------------------

ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 7, 99, 10**20, 10**400, 0.5, -0.0, 1e308, 1e-320),
    *("", "a", "b", "tie", "now", "\ud800", "\0", "x" * 1000, "Sphere", "foreign", "float64", "O"),
    *([], {}, [0], [1, 2, 3], [0.0, 0.0, 1.0], [[1, 0], [0]], {"type": "Sphere", "shape": [3]}),
    *({"type": "float", "value": "nan"}, {"float": "inf"}, [None], float("inf"), float("nan")),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to all values inside a nested one."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    return [path, *(p for key, item in items for p in places(item, (*path, key)))]


def mutate(lines: list[Any], rng: random.Random) -> list[Any]:
    """Change one to three things: a value, a key, a line, or where it is."""
    lines = copy.deepcopy(lines)
    for _ in range(rng.choice([1, 1, 2, 3])):
        what = rng.random()
        if what < 0.7:
            *way, last = rng.choice(places(lines)[1:])
            inside: Any = lines
            for key in way:
                inside = inside[key]
            if what < 0.6:
                inside[last] = rng.choice(ODD)
            elif isinstance(inside, dict):
                inside[rng.choice(["kind", "at", "of", "rater", "x"])] = inside.pop(last)
            else:
                del inside[last]
        elif what < 0.8:
            del lines[rng.randrange(1, len(lines))]
        elif what < 0.9:
            lines.insert(rng.randrange(1, len(lines)), copy.deepcopy(rng.choice(lines)))
        else:
            i, j = rng.randrange(1, len(lines)), rng.randrange(1, len(lines))
            lines[i], lines[j] = lines[j], lines[i]
        if len(lines) < 3:
            break
    return lines


def try_mutants(lines: list[Any], path: Path, count: int, seed: int) -> int:
    """Each is refused by one error, or makes a study that can be used; how many were refused."""
    rng, refused = random.Random(seed), 0
    for _ in range(count):
        write(path, mutate(lines, rng), sealed=rng.random() < 0.9)
        storage = MemoryStorage()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.OlderStudyWarning)
            try:
                study = gd.import_study(path, storage)
            except errors.MalformedExportError:
                refused += 1
                assert storage.names() == []
                continue
            except errors.ArgumentError as error:
                assert "pass m" in str(error) or "study_name" in str(error)  # noqa: PT017
                continue
            use(study)
    return refused


def use(study: gd.Study) -> None:
    """What anybody may do with a study."""
    for duel in study.open_duels:
        study.tell(duel, "a")
    for _ in range(3):
        try:
            study.tell(study.ask(rater="zoe"), "b")
        except (errors.NothingToAskError, errors.StudyFinishedError):
            break
    study.manifold.check_point(study.manifold.pack(study.recommend()))
    study.progress()
    study.undo(rater="zoe")
    study.export()


@pytest.mark.parametrize("kind", KINDS)
def test_mutants(kind, exports, tmp_path):
    count = FEW.get(kind, 140)
    refused = try_mutants(exports[kind], tmp_path / "s.jsonl", count, seed=1)
    assert count / 2 < refused  # some changes are harmless: a time, a name
    assert refused < count or kind in FEW


TOKENS = [
    *("NaN", "-Infinity", "1e999", "1" + "0" * 400, "9" * 5000, "1e-400", "-0.0", "null", "true"),
    *('"1"', "[1]", "{}", "[" * 1500 + "]" * 1500, '"\\ud800"', '"\\u0000"', "0x10", "1_0", ""),
]
TOKEN = re.compile(r'-?[0-9][0-9.eE+-]*|"[^"]*"(?=[,}\]])|null|true|false')
KEY = re.compile(r'"[a-z_]+":')


def scar(lines: list[str], rng: random.Random) -> list[str]:
    """Lines of text with one wound: a byte, a span, a token, a key twice, or an end too soon."""
    lines, i = list(lines), rng.randrange(len(lines))
    line, what = lines[i], rng.randrange(6)
    start = rng.randrange(len(line))
    end = min(len(line), start + rng.choice([1, 1, 2, 5, 20, 200]))
    if what == 0:
        line = line[:start] + chr(rng.randrange(256)) + line[start + 1 :]
    elif what == 1:
        line = line[:start] + line[end:]
    elif what == 2:
        line = line[:end] + line[start:end] + line[end:]
    elif what == 3 and (found := list(TOKEN.finditer(line))):
        token = rng.choice(found)
        line = line[: token.start()] + rng.choice(TOKENS) + line[token.end() :]
    elif what == 4 and (found := list(KEY.finditer(line))):
        before, key = rng.choice(found), rng.choice(found)
        twice = f"{key[0]}{rng.choice(TOKENS)},"
        line = line[: before.start()] + twice + line[before.start() :]
    elif what == 5:
        return [*lines[:i], line[:start]]
    return [*lines[:i], line, *lines[i + 1 :]]


def sealed_again(lines: list[str]) -> list[str]:
    """The lines with digests that are right, as somebody would write them who means harm."""
    try:
        own = seal(json.loads(lines[0])["settings"])
    except (LookupError, TypeError, ValueError, RecursionError):
        own = EMPTY
    of_settings = re.compile(r'(?<="digest":")[0-9a-f]{32}')
    events = [of_settings.sub(own, e) if '"settings"' in e else e for e in lines[1:-1]]
    digest = EMPTY
    for event in events:
        digest = chain(digest, event.encode("ascii", "replace").decode())
    return [lines[0], *events, json.dumps({"events": len(events), "digest": digest})]


def try_scars(text: str, path: Path, count: int, seed: int) -> Counter[str]:
    """Each file is refused, or makes a study that can be used: the same one if its seal is old."""
    rng, counts = random.Random(seed), Counter(refused=0, loaded=0)
    path.write_text(text)
    point = str(gd.import_study(path).recommend())
    for _ in range(count):
        lines = scar(text.splitlines(), rng)
        forged = rng.random() < 0.7
        if forged:
            lines = sealed_again(lines)
        path.write_bytes("\n".join([*lines, ""]).encode("latin-1"))
        storage = MemoryStorage()
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.OlderStudyWarning)
            try:
                study = gd.import_study(path, storage)
            except (errors.MalformedExportError, errors.ArgumentError) as error:
                # Of arguments only what a caller can mend: a method to pass, another name.
                mend = "pass m" in str(error) or "study_name" in str(error)
                assert isinstance(error, errors.MalformedExportError) or mend  # noqa: PT017
                assert storage.names() == []
                counts["refused"] += 1
            else:
                assert forged or str(study.recommend()) == point
                (name,) = storage.names()
                assert str(gd.load_study(name, storage).recommend()) == str(study.recommend())
                use(study)
                counts["loaded"] += 1
        counts["milliseconds"] = max(
            counts["milliseconds"], round(1e3 * (time.process_time() - began))
        )
    return counts


@pytest.mark.parametrize("kind", KINDS)
def test_scars(kind, exports, tmp_path):
    """Wounds of the text, under a right digest or the old one."""
    text = write(tmp_path / "s.jsonl", exports[kind]).read_text()
    count = max(16, FEW.get(kind, 60))
    counts = try_scars(text, tmp_path / "s.jsonl", count, seed=1)
    assert counts["refused"] > counts["loaded"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_mutants(kind, exports, tmp_path):
    assert try_mutants(exports[kind], tmp_path / "s.jsonl", 3000, seed=2) > 1500


def test_a_method_of_the_users_own_is_asked_for(tmp_path):
    study = gd.create_study(SPHERE, Nudge(), rng=0, study_name="s")
    study.tell(study.ask(), "a")
    study.export(tmp_path / "s.jsonl")
    with pytest.raises(errors.ArgumentError, match="pass method= when loading it"):
        gd.import_study(tmp_path / "s.jsonl")
    assert gd.import_study(tmp_path / "s.jsonl", method=Nudge()).duels == study.duels


WRONG: list[Any] = [None, True, [], {}, 1.5, "x"]  # for most kinds of fields
TAKEN = {  # kind of field: what it may hold, and what it may not
    "count": ([0, 2**53 - 1], [-1, 2**53, 0.0, *WRONG]),
    "version": ([1, 2**53 - 1], [0, 2**53, *WRONG]),
    "time": ([0, 1e9, 1.5], [-1, 1e300, None, True, "1"]),
    "name": (["ann"], ["", " ", "a\x00b", 1, None]),
    "text": (["", "ann"], [1, None, ["a"]]),
    "holder": (["0123abcd:1:23"], ["0123abcd:1", "0123abcg:1:23", 1, None]),
    "answer": (["a", "skip", "c>a>b", "a=c>b"], ["c", "c > a", "c>a=a", "", ">", 1, None, ["a"]]),
    "points": ([[1], [1] * (MOST_CHOICES - 2)], [[], [1] * (MOST_CHOICES - 1), "ab", None]),
    "order": (["ba", "acb"], ["bc", "aab", 1, None, ["a", "b"]]),
    "role": (["question", "vote"], ["answer", 1, None]),
    "side": (["a", "b"], ["c", "ab", "", 1, None]),
    "place": ([[1, 0], [7, 3]], [[0, 0], [1, -1], [1], [1, 0, 0], [1.0, 0], "10", None]),
    "items": ([[0, 1]], [[0], [0, 1, 2], [-1, 0], [0, "1"], "01", None]),
    "which": (["a", "b", "both"], ["neither", 1, None]),
    "strength": (["slightly", "clearly"], ["very", 1, None]),
    "digest": (["0123456789abcdef" * 2], ["0123456789abcdeg" * 2, "0" * 31, "0" * 33, 1, None]),
    "yes": ([True], [False, 1, "true", [True], None]),
    "level": ([1, -1.5, {"float": "inf"}], [True, "1", {"float": "1"}, {"int": "inf"}, None]),
    "value": ([None, 1, "a"], []),
    "point": ([[1.0], {}], [None]),
}


@pytest.mark.parametrize("kind", intake.RULES)
def test_what_a_field_may_hold(kind):
    _, fits = intake.RULES[kind]
    good, bad = TAKEN[kind]
    assert [value for value in good if not fits(value)] == []
    assert [value for value in bad if fits(value)] == []
