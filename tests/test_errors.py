"""Errors are caught by what anyone would expect to catch them with."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import pickle

import pytest

from geoduel import errors

BUILTINS = {
    errors.ArgumentError: ValueError,
    errors.NotOnManifoldError: ValueError,
    errors.NotTangentError: ValueError,
    errors.CutLocusError: ValueError,
    errors.OracleError: RuntimeError,
    errors.BudgetExhaustedError: RuntimeError,
    errors.MissingExtraError: ImportError,
    errors.MissingOperationError: NotImplementedError,
    errors.UnknownStudyError: KeyError,
    errors.StorageError: RuntimeError,
}
PUBLIC = [getattr(errors, name) for name in errors.__all__]


@pytest.mark.parametrize("kind", PUBLIC, ids=lambda kind: kind.__name__)
def test_every_error_and_warning_is_the_packages_own(kind):
    base = errors.GeoduelWarning if issubclass(kind, Warning) else errors.GeoduelError
    assert issubclass(kind, base)
    assert inspect.getdoc(kind)


@pytest.mark.parametrize("kind", BUILTINS, ids=lambda kind: kind.__name__)
def test_errors_are_the_builtin_that_fits(kind):
    assert issubclass(kind, BUILTINS[kind])


def test_all_that_is_defined_is_public():
    defined = {
        name
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and kind.__module__ == errors.__name__
    }
    assert defined == set(errors.__all__)


def test_messages_read_as_sentences():
    assert str(errors.UnknownStudyError("tilt")) == (
        "study_name: there is no study 'tilt' in the storage"  # a KeyError would print its repr
    )
    assert "load_if_exists=True" in str(errors.DuplicateStudyError("tilt"))


def test_errors_keep_what_they_carry():
    assert errors.NothingToAskError("wait", 2.5).retry_after == 2.5
    assert errors.StudyFinishedError("done", "budget").reason == "budget"
    assert errors.OracleError("it broke").result is None


def made(kind: type[Exception]) -> Exception:
    """An error of the kind, whatever its constructor takes, with something to carry."""
    takes = inspect.signature(kind.__init__).parameters.values() if "__init__" in vars(kind) else ()
    count = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in takes) - 1 if takes else 1
    error = kind(*("radius must be > 0, got -1", 2.5)[:count])
    error.add_note("in the third step")
    error.result = {"x": [1.0, 2.0]}
    return error


def fail(kind: type[Exception]) -> None:
    raise made(kind)


def same(again: BaseException, kind: type[Exception]) -> bool:
    error = made(kind)
    return type(again) is kind and str(again) == str(error) and vars(again) == vars(error)


@pytest.mark.parametrize("kind", PUBLIC, ids=lambda kind: kind.__name__)
def test_errors_travel_with_all_they_carry(kind):
    once = pickle.loads(pickle.dumps(made(kind)))
    assert same(once, kind)
    assert same(pickle.loads(pickle.dumps(once)), kind)
    assert same(copy.copy(once), kind)


def test_errors_arrive_from_a_pool():
    """One that cannot be read would end the thread that waits for results: a pool hangs."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        for kind in PUBLIC:
            with pytest.raises(kind) as caught:
                pool.apply_async(fail, [kind]).get(60)
            caught.value.__cause__ = None  # the traceback of the worker
            assert same(caught.value, kind)


def test_what_cannot_travel_stays_behind():
    error = errors.OracleError("it broke")
    error.result, error.kept = (lambda: 0), 3
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == "it broke"
    assert (again.result, again.kept) == (None, 3)
