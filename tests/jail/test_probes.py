"""The self-test's verdicts; what the probes do is tested in test_sealing.py."""

import errno
import os
import threading
import time

import pytest

from codemode_executor.jail import (
    JailError,
    JailPolicy,
    JailReport,
    ProbeResult,
    probes,
    require_blocked,
    run_self_test,
)

REQUIRED = JailReport("required", ())
BLOCKED = ProbeResult("fork", True, "EPERM")
OPEN = ProbeResult("read_file", False, "opened /etc/passwd")


def _raising(code: int) -> ProbeResult:
    def probe() -> str:
        raise OSError(code, os.strerror(code))

    return _only("x", probe)


def _only(name: str, probe: object) -> ProbeResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probes, "PROBES", ((name, probe),))
        patch.setattr(probes, "LINUX_PROBES", ())
        (result,) = probes.self_test()
    return result


@pytest.mark.parametrize("code", [errno.EPERM, errno.EACCES, errno.ENOSYS])
def test_a_refusal_counts_as_blocked(code: int) -> None:
    assert _raising(code) == ProbeResult("x", True, errno.errorcode[code], code)


@pytest.mark.parametrize("code", [errno.ENOENT, errno.EBADF, errno.EINVAL, errno.ESRCH])
def test_any_other_answer_counts_as_open(code: int) -> None:
    result = _raising(code)
    assert not result.blocked
    assert errno.errorcode[code] in result.detail


def test_success_counts_as_open() -> None:
    assert _only("x", lambda: "did it") == ProbeResult("x", False, "did it")


def test_the_self_test_runs_in_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "PROBES", (("who", lambda: str(threading.get_ident())),))
    monkeypatch.setattr(probes, "LINUX_PROBES", ())
    (result,) = run_self_test()
    assert int(result.detail) != threading.get_ident()


def test_a_self_test_that_hangs_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang() -> str:
        time.sleep(0.5)
        return ""

    monkeypatch.setattr(probes, "PROBES", (("hang", hang),))
    with pytest.raises(JailError, match=r"no answer within 0\.05 s"):
        run_self_test(timeout_s=0.05)


def test_one_breach_is_an_error_that_names_it() -> None:
    require_blocked((BLOCKED,), REQUIRED)
    with pytest.raises(JailError, match="not blocked: read_file: opened /etc/passwd"):
        require_blocked((BLOCKED, OPEN), REQUIRED)
    require_blocked((OPEN,), JailReport("used", ()))


def test_the_policy_decides_what_is_judged() -> None:
    require_blocked((OPEN,), REQUIRED, policy=JailPolicy(layers={"seccomp": "off"}))
    with pytest.raises(JailError, match="read_file"):
        require_blocked(
            (OPEN,), JailReport("used", ()), policy=JailPolicy(hardening="used", layers={"seccomp": "required"})
        )


def test_no_probe_is_an_error() -> None:
    with pytest.raises(JailError, match="no probe was run"):
        require_blocked((), REQUIRED)
