"""The contract with the functions of V8 that make snapshots. An upgrade of mini-racer must meet it."""

from __future__ import annotations

import ctypes
import sys

import pytest

from codemode_executor.worker.snapshots import Snapshots, SnapshotsUnavailable

from .alone import run_alone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere scripts are evaluated")


def test_an_isolate_begins_where_the_script_ended() -> None:
    assert run_alone(
        """
        engine = Engine(FLAGS)
        made = Snapshots(engine.dll)
        made.choose(Snapshot(made.make(b"globalThis.count = 1; globalThis.next = () => String(count++); next()")))
        first, second = Isolate(engine), Isolate(engine)
        # Each has a copy of its own.
        print([evaluate(first, "next()") for _ in range(3)], evaluate(second, "next()"))
        made.choose(made.original)
        third = Isolate(engine)
        print(evaluate(third, "typeof next"), evaluate(first, "next()"))
        """
    ) == ["['2', '3', '4'] 2", "undefined 5"]


def test_isolates_of_different_snapshots_live_beside_each_other() -> None:
    assert run_alone(
        """
        engine = Engine(FLAGS)
        made = Snapshots(engine.dll)
        texts = ["a" * 3000, "b" * 70000]
        scripts = [f"globalThis.text = '{text}'; globalThis.own = /x/.exec('x')".encode() for text in texts]
        images = [Snapshot(data) for data in map(made.make, scripts)]
        opened = []
        for _ in range(5):
            for image in images:
                made.choose(image)
                opened.append(Isolate(engine))
        for isolate in opened[:4]:
            isolate.free()
        print({evaluate(isolate, "text.length + own[0] + [1, 2].map(String) + new Map([[1, 'm']]).get(1)")
               for isolate in opened[4:]} == {"3000x1,2m", "70000x1,2m"})
        """
    ) == ["True"]


def test_what_the_context_forbids_stays_forbidden() -> None:
    assert run_alone(
        """
        engine = Engine(FLAGS)
        made = Snapshots(engine.dll)
        made.choose(Snapshot(made.make(b"globalThis.make = (text) => new Function(text)")))
        isolate = Isolate(engine)
        print(evaluate(isolate, "try { make('return 1')() } catch (error) { error.name }"))
        # What V8 adds to every context is added here too, and no two isolates draw the same numbers.
        print(evaluate(isolate, "typeof WebAssembly + typeof Uint8Array.fromBase64 + typeof Error.isError"))
        print(len({evaluate(Isolate(engine), "String(Math.random())") for _ in range(4)}))
        """
    ) == ["EvalError", "objectfunctionfunction", "4"]


def test_a_script_that_fails_gives_no_snapshot() -> None:
    assert run_alone(
        """
        engine = Engine(FLAGS)
        made = Snapshots(engine.dll)
        for script in (b"throw 1", b"not a program"):
            try:
                made.make(script)
            except SnapshotFailed as error:
                print(error)
        print(evaluate(Isolate(engine), "'as before'"))
        """
    ) == ["V8 made no snapshot of the script"] * 2 + ["as before"]


def test_no_thread_is_left_and_isolates_work_behind_a_fork() -> None:
    assert run_alone(
        """
        engine = Engine(FLAGS)
        made = Snapshots(engine.dll)
        made.choose(Snapshot(made.make(b"globalThis.text = 'from the snapshot'")))
        print(len(os.listdir("/proc/self/task")))
        for _ in range(3):
            reading, writing = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.write(writing, evaluate(Isolate(engine), "text").encode())
                os._exit(0)
            print(os.read(reading, 100).decode(), os.waitpid(pid, 0)[1])
        """
    ) == ["1", *["from the snapshot 0"] * 3]


def test_what_is_chosen_can_be_locked() -> None:
    assert run_alone(
        """
        engine = Engine(FLAGS)
        made = Snapshots(engine.dll)

        def protection():
            address = snapshots.ctypes.addressof(made._chosen)
            for line in open("/proc/self/maps"):
                first, last = (int(part, 16) for part in line.split()[0].split("-"))
                if first <= address < last:
                    return line.split()[1]

        print(protection())
        made.choose(Snapshot(made.make(b"globalThis.text = 'chosen'")))
        print(protection())
        made.lock()
        print(protection(), evaluate(Isolate(engine), "text"))
        made.choose(made.original)
        print(evaluate(Isolate(engine), "typeof text"))
        """
    ) == ["r--p", "rw-p", "r--p chosen", "undefined"]


def test_a_library_without_the_functions_is_told() -> None:
    with pytest.raises(SnapshotsUnavailable, match="does not export"):
        Snapshots(ctypes.CDLL(None))
