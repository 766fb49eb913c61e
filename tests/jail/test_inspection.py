"""Looking from outside."""

import os
import threading

import msgspec
import pytest

from codemode_executor.jail import (
    Hardening,
    JailError,
    JailReport,
    LayerReport,
    ThreadStatus,
    inspect,
    require_sealed,
)

SEALED = ThreadStatus(
    tid=7, name="worker", state="S", uids=(65534, 65534, 65534, 65534), gids=(65534, 65534, 65534, 65534), groups=(),
    seccomp=2, no_new_privs=True, cap_effective=0, cap_permitted=0,
)  # fmt: skip


def report(hardening: Hardening, *on: str) -> JailReport:
    return JailReport(hardening, tuple(LayerReport(name, "on", "") for name in on))


def test_inspect_sees_every_thread_of_this_process() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        statuses = inspect(os.getpid())
    finally:
        stop.set()
        thread.join()
    assert {os.getpid(), thread.native_id} <= {status.tid for status in statuses}
    own = next(status for status in statuses if status.tid == os.getpid())
    assert own.uids[:3] == os.getresuid()
    assert own.gids[:3] == os.getresgid()
    assert own.groups == tuple(sorted(os.getgroups()))


def test_a_process_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ProcessLookupError):
        inspect(2**22 + 1)


def test_a_sealed_process_passes() -> None:
    require_sealed([SEALED], report("required"))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"seccomp": 0}, "seccomp mode 0"),
        ({"seccomp": 1}, "seccomp mode 1"),
        ({"no_new_privs": False}, "new privileges possible"),
        ({"cap_effective": 1 << 21}, "capabilities 200000"),
        ({"cap_permitted": 1}, "permitted 1"),
        ({"uids": (65534, 65534, 0, 65534)}, "ids"),
        ({"gids": (0, 65534, 65534, 65534)}, "ids"),
    ],
)
def test_one_open_thread_is_enough(change: dict[str, object], text: str) -> None:
    opened = msgspec.structs.replace(SEALED, tid=8, name="late", **change)
    with pytest.raises(JailError, match=r"thread 8 \(late\)") as caught:
        require_sealed([SEALED, opened], report("required"))
    assert text in caught.value.problem
    require_sealed([opened], report("off"))


def test_used_hardening_is_held_to_what_it_claims() -> None:
    opened = msgspec.structs.replace(SEALED, seccomp=0)
    require_sealed([opened], report("used", "no_new_privs"))
    with pytest.raises(JailError, match="seccomp mode 0"):
        require_sealed([opened], report("used", "no_new_privs", "seccomp"))


@pytest.mark.parametrize("hardening", ["required", "used"])
def test_no_thread_is_an_error(hardening: Hardening) -> None:
    with pytest.raises(JailError, match="no thread left"):
        require_sealed([], report(hardening))
