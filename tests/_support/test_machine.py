"""The memory of the machine is told as the system tells it."""

from __future__ import annotations

import math
import os
import sys

import pytest

from geoduel._support import machine


@pytest.fixture(autouse=True)
def afresh():
    machine.machine_memory.cache_clear()
    yield
    machine.machine_memory.cache_clear()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it may be unknown")
def test_there_is_some():
    assert 1e8 < machine.machine_memory() < 1e15


def test_a_container_may_have_less(monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(machine, "Path", lambda path: limit)
    limit.write_text("1000000\n", encoding="ascii")
    assert machine.machine_memory() == 1e6
    machine.machine_memory.cache_clear()
    limit.write_text("max\n", encoding="ascii")
    assert machine.machine_memory() > 1e6


def test_where_the_system_does_not_tell_nothing_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "Path", lambda path: tmp_path / "no")
    monkeypatch.delattr(os, "sysconf", raising=False)
    assert machine.machine_memory() == math.inf
