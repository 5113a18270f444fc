"""Errors are caught by what anyone would expect to catch them with."""

from __future__ import annotations

import inspect
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


def test_plain_errors_travel_between_processes():
    again = pickle.loads(pickle.dumps(errors.ArgumentError("radius must be > 0, got -1")))
    assert str(again) == "radius must be > 0, got -1"
