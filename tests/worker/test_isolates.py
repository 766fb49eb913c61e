"""What a worker's isolates begin with: with snapshots and without, as two isolates and as one."""

from __future__ import annotations

import pytest

from codemode_executor import IsolateExecutor

from .alone import run_alone

# A run as a worker does it, up to what the harness posts last.
RUN = """
import json
from codemode_executor.worker import channel
from codemode_executor.worker.program import decode_reading, reader_request, Script

CONFIGURATION = {"kind": 4, "providers": [{"name": "t", "hasThen": False, "connector": False}], "env": {"a": 1},
    "seed": [1, 2, 3, 4], "chunks": False, "retain": False, "outbound": False, "services": False, "logBytes": 1000,
    "logLines": 10, "argumentBytes": 1000, "resultBytes": 100000, "callsInFlight": 10}

def run(isolates, code, pair=None):
    reader, isolate = pair or isolates.open_first()
    posted = queue.SimpleQueue()
    buffer = None
    def on_post():
        if buffer is not None:
            size = int.from_bytes(buffer[:4], "little")
            if size > 3:
                posted.put(bytes(buffer[4 : 4 + 2 * size]))
    buffer = isolate.attach(on_post)
    reading = decode_reading(ask(reader, reader_request(code).decode()).encode())
    isolate.deliver(json.dumps([CONFIGURATION]).encode())
    isolate.evaluate(Script(reading, ["t"]).source, lambda reply: None)
    item = channel.parse_units(posted.get(timeout=GUARD_S))[0]
    return json.loads(item.value) if isinstance(item, channel.ResultItem) else item

GLOBALS = '''
const shape = (o) => Reflect.ownKeys(o).map((key) => {
  const { value, writable, enumerable, configurable, get } = Reflect.getOwnPropertyDescriptor(o, key)
  return [String(key), typeof value, typeof get, writable, enumerable, configurable, value?.name, value?.length].join()
}).sort()
return [shape(globalThis), shape(console), shape(Math), String(setTimeout), RegExp.lastMatch + RegExp.input]
'''
"""


@pytest.mark.parametrize("one_run", [False, True])
def test_a_program_finds_the_same_globals_with_and_without_snapshots(one_run: bool) -> None:
    assert run_alone(
        RUN
        + f"""
engine = Engine(FLAGS)
bundles = assets.Bundles.load()
fast = Isolates(engine, bundles, 64 << 20, one_run={one_run})
fast.wait_for_snapshots()
seen = run(fast, GLOBALS)

class Missing:
    def __init__(self, library):
        raise SnapshotsUnavailable("not in this build")

isolates.Snapshots = Missing
slow = Isolates(engine, bundles, 64 << 20, one_run={one_run})
slow.wait_for_snapshots()
# Isolates begin with the harness's snapshot still, which a worker without snapshots has not.
Snapshots(engine.dll).choose(ORIGINAL)
expected = run(slow, GLOBALS)
print(repr(fast.without_snapshots), repr(slow.without_snapshots))
print(seen == expected, len(seen[0]) > 50, [name for name in seen[0] if "entry" in name])
""".replace("engine = Engine(FLAGS)\n", "engine = Engine(FLAGS)\nORIGINAL = Snapshots(engine.dll).original\n")
    ) == ["'' 'SnapshotsUnavailable: not in this build'", "True True []"]


def test_no_state_goes_from_one_isolate_to_the_next() -> None:
    assert run_alone(
        RUN
        + """
engine = Engine(FLAGS)
made = Isolates(engine, assets.Bundles.load(), 64 << 20, one_run=False)
made.wait_for_snapshots()
reader, first = made.open_first()
spoil = "globalThis.left = 1; Array.prototype.map = () => 'mine'; Math.random = () => 1; return 1"
print(run(made, spoil, (reader, first)))
print(run(made, "return [typeof left, [1].map(String), Math.random() < 1, this.env.a]", (reader, made.open_run())))
"""
    ) == ["1", "['undefined', ['1'], True, 1]"]


def test_one_isolate_can_be_reader_and_run() -> None:
    assert run_alone(
        RUN
        + """
engine = Engine(FLAGS)
made = Isolates(engine, assets.Bundles.load(), 64 << 20, one_run=True)
made.wait_for_snapshots()
reader, isolate = made.open_first()
print(reader is isolate)
print(run(made, "const [x] = [{ a: `b` }]; return x", (reader, isolate)))
"""
    ) == ["True", "{'a': 'b'}"]


async def test_workers_begin_with_snapshots_here() -> None:
    async with IsolateExecutor(min_workers=1) as executor:
        assert (await executor.inspect()).without_snapshots == ""
