"""Who holds a question that was asked of nobody in particular."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from hashlib import blake2b

import pytest

from geoduel.study import holders
from geoduel.study.holders import is_dead, me


def test_threads_and_processes_are_told_apart():
    names = [me()]
    thread = threading.Thread(target=lambda: names.append(me()))
    thread.start()
    thread.join()
    code = "from geoduel.study.holders import me; print(me())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names.append(done.stdout.strip())
    assert names[0] == me()
    assert len(set(names)) == 3
    hosts, processes, _ = zip(*(name.split(":") for name in names), strict=True)
    assert len(set(hosts)) == 1
    assert processes[0] == processes[1] == str(os.getpid()) != processes[2]
    if os.name == "posix":
        assert [is_dead(name) for name in names] == [False, False, True]


def test_nothing_is_known_of_others():
    assert not is_dead(None)
    assert not is_dead(f"another host:{2**22 + 1}:1")
    assert not is_dead(f"{me().partition(':')[0]}:{2**70}:1")  # no process has such a number


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
def test_of_containers_of_one_name_nothing_is_known(monkeypatch):
    """Nor of those of versions that named the host alone."""
    nobody = 2**22 + 1  # beyond all numbers of processes
    here = me().partition(":")[0]
    assert is_dead(f"{here}:{nobody}:1")
    monkeypatch.setattr(os, "readlink", lambda path: "pid:[1]")
    there = holders._host.__wrapped__()
    of_old = blake2b(socket.gethostname().encode(), digest_size=4).hexdigest()
    for host in (there, of_old):
        assert len(host) == len(here)  # logs of both look alike
        assert not is_dead(f"{host}:{nobody}:1")


@pytest.mark.skipif(os.name != "posix", reason="processes are looked up where that is harmless")
def test_processes_of_others_live():
    """Process 1 may not be signalled by everyone, but is there."""
    assert not is_dead(f"{me().partition(':')[0]}:1:1")
