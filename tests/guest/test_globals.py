"""The names that a program finds without asking: exactly those of ``globals.json``, and who puts them there."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest
from py_mini_racer import _dll

from codemode_executor import IsolateExecutor
from codemode_executor.worker.chunks import Chunks
from codemode_executor.worker.isolate import Engine, Kind, Reply
from codemode_executor.worker.program import Reading, Script
from guest.test_harness import Guest

CHUNKS = Path(__file__).parents[2] / "executor" / "guest" / "src" / "chunks"
GUARD_S = 10.0
LIST = "Reflect.ownKeys(globalThis).map(String)"


class Pinned(msgspec.Struct, forbid_unknown_fields=True):
    """``language``: V8's own. ``harness``: in every run. ``platform``: with the chunk that provides it."""

    language: list[str]
    harness: list[str]
    platform: list[str]


class Chunk(msgspec.Struct):
    globals: list[str] = []
    requires: list[str] = []


PINNED = msgspec.json.decode((Path(__file__).parent / "globals.json").read_bytes(), type=Pinned)
MANIFEST = {
    path.parent.name: msgspec.json.decode(path.read_bytes(), type=Chunk) for path in CHUNKS.glob("*/chunk.json")
}
ALWAYS = {*PINNED.language, *PINNED.harness}


@pytest.fixture(scope="module")
def engine() -> Engine:
    with pytest.MonkeyPatch.context() as patch:
        # Another test of this process may have initialised V8; its flags do not matter here.
        patch.setattr(_dll, "init_mini_racer", partial(_dll.init_mini_racer, ignore_duplicate_init=True))
        return Engine(["--single-threaded"])


@pytest.fixture
def guest(engine: Engine) -> Iterator[Guest]:
    guest = Guest(engine)
    yield guest
    guest.free()


def found(guest: Guest) -> list[str]:
    names = guest.result()
    assert isinstance(names, list)
    return sorted(map(str, names))


def test_a_program_that_names_nothing_finds_these(guest: Guest) -> None:
    guest.run(f"async () => {LIST}")
    assert found(guest) == sorted(ALWAYS)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_program_that_looks_around_finds_these(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(f"async () => {LIST}")
    assert outcome.error is None
    assert sorted(outcome.result) == sorted([*ALWAYS, *PINNED.platform])


def test_every_platform_global_has_one_chunk() -> None:
    assert sorted(name for chunk in MANIFEST.values() for name in chunk.globals) == sorted(PINNED.platform)


@pytest.mark.asyncio(loop_scope="module")
async def test_modules_add_no_name(executor: IsolateExecutor) -> None:
    code = f"async () => {{ await import('node:path'); return [typeof __module__, ...{LIST}] }}"
    outcome = await executor.execute(code)
    assert outcome.error is None
    assert sorted(outcome.result) == sorted(["undefined", *ALWAYS, *PINNED.platform])


# The linker's is taken away by the program's start, which that chunk has a part in: see above.
@pytest.mark.parametrize("name", [name for name in MANIFEST if name != "modules"])
def test_a_chunk_defines_what_it_declares(name: str, engine: Engine) -> None:
    # With what it requires, and without anything else being there: a requirement that it does not declare fails here.
    order = order_of(name)
    guest = Guest(engine)
    replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
    try:
        guest.configure(chunks=True)
        guest.isolate.evaluate(Chunks().script(order), replies.put)
        reply = replies.get(timeout=GUARD_S)
        assert reply.kind < Kind.EXCEPTION, reply
        guest.isolate.evaluate(Script(Reading(True, body=f"async () => {LIST}"), ["tools"]).source, lambda _: None)
        declared = {other for chunk in order for other in MANIFEST[chunk].globals}
        assert set(found(guest)) ^ ALWAYS == declared
    finally:
        guest.free()


@pytest.mark.asyncio(loop_scope="module")
async def test_naming_a_global_is_enough(executor: IsolateExecutor) -> None:
    # One program each: a name that is there only because another one was named would be found missing here.
    missing = [
        name
        for name in PINNED.platform
        if (await executor.execute(f"async () => typeof {name}")).result in ("undefined", None)
    ]
    assert missing == []


def order_of(name: str) -> list[str]:
    """``name`` after everything that it requires."""
    order: list[str] = []
    for other in MANIFEST[name].requires:
        order += [chunk for chunk in order_of(other) if chunk not in order]
    return [*order, name]
