"""The jail around a real process, seen from inside and from outside."""

import errno
import signal
import sys

import pytest

from codemode_executor import jail
from codemode_executor.jail import sealing
from jail.harness import IDENTITIES, jailed

SELF_TEST = """
answer["probes"] = {p.name: [p.blocked, p.detail] for p in jail.run_self_test()}
"""


PROBES = {
    "read_file", "write_file", "read_environment", "inet_socket", "unix_socket", "connect", "fork",
    "spawn", "execute", "signal_parent", "raise_limit", "become_root", "unshare", "trace",
}  # fmt: skip


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("action", ["errno", "kill"])
def test_every_probe_is_blocked(identity: str, action: str) -> None:
    seen = jailed(SELF_TEST, identity=identity, seccomp_action=action, data_bytes=1 << 30)
    assert seen.said["probes"] == {name: [True, "EPERM"] for name in PROBES}
    states = {name: state for name, (state, _) in seen.said["layers"].items()}
    expected = dict.fromkeys(states, "on")
    expected["priority"] = "off"
    if identity != "root":
        expected["identity"] = "off"
    assert states == expected


@pytest.mark.parametrize("identity", IDENTITIES)
def test_without_hardening_the_probes_notice(identity: str) -> None:
    probes = jailed(SELF_TEST, identity=identity, hardening="off").said["probes"]
    blocked = {name for name, (is_blocked, _) in probes.items() if is_blocked}
    # An ordinary user cannot become root, jail or no jail.
    assert blocked == (set() if identity == "root" else {"become_root"})
    assert set(probes) == PROBES


def test_an_open_jail_fails_the_requirement() -> None:
    body = """
results = jail.run_self_test()
required = jail.JailReport("required", report.layers)
try:
    jail.require_blocked(results, required)
except jail.JailError as failure:
    answer["failure"] = [failure.layer, str(failure)]
"""
    layer, text = jailed(body, hardening="off").said["failure"]
    assert layer == "self_test"
    assert "read_file: opened /etc/passwd" in text


@pytest.mark.parametrize("identity", IDENTITIES)
def test_outside_sees_every_thread_sealed(identity: str) -> None:
    body = """
for _ in range(3):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
"""
    threads = jailed(body, identity=identity).outside["threads"]
    assert len(threads) == 4
    for thread in threads:
        assert thread["seccomp"] == 2
        assert thread["no_new_privs"] is True
        assert thread["cap_effective"] == thread["cap_permitted"] == 0
        assert 0 not in thread["uids"] + thread["gids"]
        assert 0 not in thread["groups"]


def test_used_hardening_reports_a_failed_layer_and_goes_on() -> None:
    seen = jailed(SELF_TEST, early_thread=True, hardening="used")
    state, detail = seen.said["layers"]["threads"]
    assert (state, "2 threads" in detail) == ("failed", True)
    assert seen.said["layers"]["seccomp"][0] == "on"
    # The filter is given to threads that exist already. The self-test's own may not be gone yet.
    assert len(seen.outside["threads"]) >= 2
    assert {thread["seccomp"] for thread in seen.outside["threads"]} == {2}
    assert all(blocked for blocked, _ in seen.said["probes"].values())


def test_an_unforeseen_call_kills_under_the_killing_action() -> None:
    body = "os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))"
    seen = jailed(body, seccomp_action="kill")
    assert seen.answer is None
    assert seen.exit_code == -signal.SIGSYS
    refused = jailed(f"try:\n {body}\nexcept OSError as e:\n answer['errno'] = e.errno", seccomp_action="errno")
    assert refused.said["errno"] == errno.EPERM


def test_sealing_twice_is_an_error() -> None:
    body = """
try:
    jail.apply(jail.JailPolicy(), [])
except jail.JailError as failure:
    answer["second"] = failure.layer
"""
    assert jailed(body).said["second"] == "threads"


@pytest.mark.parametrize("fds", [[0], [1], [2], [-1], [5, 2]])
def test_standard_descriptors_are_not_kept(fds: list[int]) -> None:
    with pytest.raises(ValueError, match="must not hold"):
        jail.apply(jail.JailPolicy(), fds)


@pytest.mark.parametrize(("platform", "remedy"), [("darwin", 'hardening="used"'), ("win32", "WSL2")])
def test_required_elsewhere_names_the_way_out(monkeypatch: pytest.MonkeyPatch, platform: str, remedy: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(jail.JailError, match=f"this is {platform}") as caught:
        sealing.apply(jail.JailPolicy(), [])
    assert remedy in caught.value.remedy
