"""A worker lives inside the jail: real V8, with the action that kills on an unforeseen call."""

import signal

import pytest

from jail.harness import IDENTITIES, jailed


def run(code: str, identity: str = IDENTITIES[-1]) -> str:
    body = f"""
isolate = isolate_type()
answer["value"] = isolate.run({code!r})
answer["freed"] = isolate.free()
"""
    seen = jailed(body, identity=identity, v8=True, seccomp_action="kill", data_bytes=1 << 30)
    assert seen.said["freed"] is True
    return seen.said["value"]


@pytest.mark.parametrize("identity", IDENTITIES)
def test_an_isolate_computes(identity: str) -> None:
    code = "let s = 0; for (let k = 0; k < 2e7; k++) s += k % 7; String(s)"
    expected = sum(range(7)) * (20_000_000 // 7) + sum(range(20_000_000 % 7))
    assert run(code, identity=identity) == str(expected)


def test_intl_knows_time_zones() -> None:
    code = """
new Intl.DateTimeFormat("en-GB", {timeZone: "Asia/Kathmandu", dateStyle: "short",
  timeStyle: "short"}).format(new Date(0)) + " " + "ä".localeCompare("z", "de")
"""
    assert run(code) == "01/01/1970, 05:30 -1"


def test_buffers_recursion_collection_and_waits() -> None:
    code = """
const buffers = [];
for (let k = 0; k < 20; k++) buffers.push(new Uint8Array(10 << 20).fill(k));
let deep; const f = (n) => n ? 1 + f(n - 1) : 0;
try { f(1e7) } catch (e) { deep = e.name }
for (let k = 0; k < 100; k++) { const a = []; for (let j = 0; j < 2000; j++) a.push([j, {}]) }
const matched = new RegExp("(a|b|c){1,900}".repeat(10)).test("abc".repeat(100));
const waited = Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0, 20);
[buffers.reduce((a, b) => a + b[99], 0), deep, matched, waited, Math.random() < 1].join(" ")
"""
    assert run(code) == "190 RangeError true timed-out true"


@pytest.mark.parametrize(
    "code",
    [
        "while (true) {}",
        "(async () => { await 0; while (true) {} })()",
        "(async () => { while (true) await 0 })()",
        "Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0)",
        "/^(a+)+$/.test('a'.repeat(60) + 'b')",
    ],
)
def test_a_program_that_does_not_end_is_terminated(code: str) -> None:
    body = f"""
isolate = isolate_type()
isolate.run("1")
isolate.start({code!r})
time.sleep(0.2)
answer["freed"] = isolate.free()
answer["next"] = isolate_type().run("'alive'")
"""
    said = jailed(body, v8=True, seccomp_action="kill", data_bytes=1 << 30).said
    assert (said["freed"], said["next"]) == (True, "alive")


def test_isolates_come_and_go_and_their_threads_are_sealed() -> None:
    body = """
for _ in range(10):
    isolate = isolate_type()
    isolate.run("1")
    isolate.free()
kept = isolate_type()
answer["value"] = kept.run("'last'")
"""
    seen = jailed(body, v8=True, seccomp_action="kill", data_bytes=1 << 30)
    assert seen.said["value"] == "last"
    threads = seen.outside["threads"]
    assert len(threads) >= 2
    assert {thread["seccomp"] for thread in threads} == {2}


def test_an_abort_of_v8_ends_the_process_with_its_text() -> None:
    body = """
isolate_type().run("const z = []; while (1) z.push(new Array(100000).fill(1.5))")
"""
    seen = jailed(body, v8=True, seccomp_action="kill", data_bytes=1 << 30)
    assert seen.answer is None
    assert seen.exit_code == -signal.SIGTRAP
    assert "Fatal JavaScript out of memory" in seen.stderr


def test_an_abort_of_the_c_library_ends_the_process() -> None:
    seen = jailed("os.abort()", seccomp_action="kill")
    assert seen.exit_code == -signal.SIGABRT


def test_the_channel_works() -> None:
    body = """
import select
poller = select.poll()
poller.register(near, select.POLLIN)
poller.register(wake, select.POLLIN)
answer["idle"] = poller.poll(1)
threading.Thread(target=os.eventfd_write, args=(wake, 3)).start()
answer["woken"] = poller.poll(5000) == [(wake, select.POLLIN)]
answer["count"] = os.eventfd_read(wake)
far.sendmsg([b"one", b"two"])
far.send(b"three")
answer["ready"] = poller.poll(5000) == [(near.fileno(), select.POLLIN)]
buffer = bytearray(6)
answer["received"] = [near.recv_into(buffer), buffer.decode(), near.recvmsg(100)[0].decode()]
near.sendall(bytes(100_000))
far.close()
answer["end"] = poller.poll(0)[0][0] == near.fileno()
time.sleep(0.001)
answer["random"] = len(os.getrandom(8))
"""
    said = jailed(body, seccomp_action="kill").said
    assert said["idle"] == []
    assert (said["woken"], said["count"], said["ready"]) == (True, 3, True)
    assert said["received"] == [6, "onetwo", "three"]
    assert (said["end"], said["random"]) == (True, 8)


NEW_CODE = """
import errno
from codemode_executor.jail import kernel
from codemode_executor.jail.syscalls import architecture
def executable():
    try:
        # Private and anonymous, to be read and executed.
        return "mapped" if kernel.syscall(architecture().numbers["mmap"], 0, 4096, 5, 0x22, -1, 0) else "nothing"
    except OSError as refusal:
        return errno.errorcode[refusal.errno]
isolate = isolate_type()
answer["value"] = isolate.run("let s = 0; for (let k = 0; k < 1e6; k++) s += k % 7; /(a|b)+c/.test('abac') + ' ' + s")
answer["freed"] = isolate.free()
answer["executable"] = executable()
"""


@pytest.mark.parametrize("executable_memory", [False, True])
def test_without_a_compiler_no_executable_memory_is_needed(executable_memory: bool) -> None:
    said = jailed(
        NEW_CODE,
        v8=True,
        v8_flags=["--jitless"],
        executable_memory=executable_memory,
        seccomp_action="kill",
        data_bytes=1 << 30,
    ).said
    assert (said["value"], said["freed"]) == ("true 2999997", True)
    assert said["executable"] == ("mapped" if executable_memory else "EPERM")
