"""Looking from outside."""

import os
import signal
import threading
import time

import msgspec
import pytest

from codemode_executor.jail import (
    Hardening,
    JailError,
    JailPolicy,
    JailReport,
    LayerReport,
    ProcessStatus,
    ThreadStatus,
    inspect,
    inspect_process,
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


def test_a_thread_whose_number_is_somebody_elses_by_now_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    try:
        monkeypatch.setattr(os, "listdir", lambda _: [str(child), str(os.getpid())])
        assert [status.tid for status in inspect(child)] == [child]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


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


def test_this_process_is_not_confined_against_itself() -> None:
    seen = inspect_process(os.getpid())
    assert (seen.own_user_namespace, seen.own_network_namespace, seen.own_root_directory) == (False, False, False)


def test_of_a_process_that_is_gone_nothing_is_known() -> None:
    assert inspect_process(2**22 + 1) == ProcessStatus(None, None, None, None)


@pytest.mark.parametrize(
    ("layer", "change", "text"),
    [
        ("user_namespace", {"own_user_namespace": False}, "in this process's user namespace"),
        ("network_namespace", {"own_network_namespace": False}, "in this process's network"),
        ("root_directory", {"own_root_directory": False}, "its root directory has mounts"),
        ("core_dumps", {"dumpable": True}, "it is dumpable"),
    ],
)
def test_the_process_as_a_whole_is_held_to_what_it_claims(layer: str, change: dict[str, bool], text: str) -> None:
    sealed = ProcessStatus(True, True, True, False)
    claim = report("used", layer)
    require_sealed([SEALED], claim, process=sealed)
    require_sealed([SEALED], claim, process=ProcessStatus(None, None, None, None))  # not to be seen: not checked
    opened = msgspec.structs.replace(sealed, **change)
    with pytest.raises(JailError, match=text):
        require_sealed([SEALED], claim, process=opened)
    require_sealed([SEALED], report("used"), process=opened)
    # Whatever the report says: the policy demands it.
    with pytest.raises(JailError, match=text):
        require_sealed([SEALED], report("used"), policy=JailPolicy(layers={layer: "required"}), process=opened)


def test_what_the_policy_leaves_out_is_not_demanded() -> None:
    opened = msgspec.structs.replace(SEALED, seccomp=0)
    require_sealed([opened], report("required"), policy=JailPolicy(layers={"seccomp": "off"}))
    with pytest.raises(JailError, match="seccomp mode 0"):
        require_sealed([opened], report("off"), policy=JailPolicy(hardening="off", layers={"seccomp": "required"}))


def test_a_process_that_proc_hides_is_named_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    # What a /proc mounted with hidepid=2 does: the process exists, its directory does not.
    def listdir(path: str) -> list[str]:
        raise FileNotFoundError(2, "No such file or directory", path)

    monkeypatch.setattr(os, "listdir", listdir)
    with pytest.raises(PermissionError, match="hidepid"):
        inspect(os.getppid())
