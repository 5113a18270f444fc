"""Every storage keeps the contract."""

from __future__ import annotations

import inspect
import threading
import time

import pytest

from geoduel.errors import DuplicateStudyError, UnknownStudyError
from geoduel.study.log import Row
from geoduel.study.storage import MemoryStorage, SQLStorage, Storage

ROWS = [Row(n, "{}", str(n)) for n in range(1, 4)]
KINDS = [MemoryStorage, SQLStorage]


@pytest.fixture(params=KINDS)
def storage(request, url) -> Storage:
    return MemoryStorage() if request.param is MemoryStorage else SQLStorage(url)


def test_names_settings_and_rows(storage):
    storage.create("b", "{}", ROWS)
    storage.create("a", '{"format":1}')
    assert storage.names() == ["a", "b"]
    assert storage.settings("a") == '{"format":1}'
    assert storage.read("b", 1) == ROWS[1:]
    assert storage.read("a", 0) == []
    with pytest.raises(DuplicateStudyError):
        storage.create("a", "{}")
    storage.delete("b")
    assert storage.names() == ["a"]
    for call in (
        storage.settings,
        storage.delete,
        lambda name: storage.read(name, 0),
        lambda name: storage.write(name, lambda log: log.read(0)),
    ):
        with pytest.raises(UnknownStudyError):
            call("b")


def test_a_deleted_name_starts_anew(storage):
    storage.create("s", "{}", ROWS)
    storage.save_snapshot("s", 3, "text")
    storage.delete("s")
    storage.create("s", '{"format":1}')
    assert storage.settings("s") == '{"format":1}'
    assert storage.read("s", 0) == []
    assert storage.load_snapshot("s") is None


def test_a_write_returns_what_the_act_does(storage):
    storage.create("s", "{}", ROWS[:1])
    storage.create("other", "{}")

    def act(log):
        log.append(ROWS[1:])
        return log.read(0), log.read(2)

    assert storage.write("s", act) == (ROWS, ROWS[2:])
    assert storage.write("s", lambda log: log.read(1), durable=False) == ROWS[1:]
    assert storage.read("s", 0) == ROWS
    assert storage.read("other", 0) == []


def test_writers_take_turns(storage):
    width = 8
    storage.create("s", "{}")

    def act(log):
        number = len(log.read(0)) + 1
        time.sleep(1e-5)  # another thread may run in between
        log.append([Row(number, "{}", "")])
        return number

    threads = [
        threading.Thread(target=lambda: [storage.write("s", act) for _ in range(50)])
        for _ in range(width)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row.number for row in storage.read("s", 0)] == list(range(1, 50 * width + 1))


def test_the_address_leads_back_to_it(storage):
    storage.create("s", "{}", ROWS)
    assert (storage.url is None) == isinstance(storage, MemoryStorage)
    if storage.url is not None:
        assert SQLStorage(storage.url, create=False).read("s", 0) == ROWS


@pytest.mark.parametrize("kind", KINDS)
def test_a_storage_offers_the_contract_and_nothing_else(kind):
    """A study that runs on one storage then runs on every other."""
    there, offered = (
        {n for n, v in vars(each).items() if inspect.isfunction(v) and n[0] != "_"}
        for each in (Storage, kind)
    )
    assert Storage.__abstractmethods__ <= offered <= there
    for name in offered:
        signatures = [inspect.signature(getattr(c, name)) for c in (kind, Storage)]
        assert signatures[0] == signatures[1], name


CONTRACT = (
    "names", "create", "settings", "delete", "read", "write", "settle", "load_snapshot",
    "save_snapshot", "backup",
)  # fmt: skip


@pytest.mark.parametrize("lacks", CONTRACT)
def test_a_storage_that_lacks_part_of_the_contract_has_no_instances(lacks):
    kind = type("Some", (Storage,), {name: None for name in CONTRACT if name != lacks})
    with pytest.raises(TypeError, match=f"abstract method '?{lacks}'?"):
        kind()
