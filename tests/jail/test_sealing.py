"""The jail around a real process, seen from inside and from outside."""

import errno
import signal
import subprocess
import sys

import pytest

from codemode_executor import jail
from codemode_executor.jail import sealing
from codemode_executor.jail.layer import Context, Outcome, Prepared
from codemode_executor.jail.layers import LAYERS
from codemode_executor.jail.policy import EXTRA
from jail.harness import IDENTITIES, PACKAGES, jailed, offered

SELF_TEST = """
answer["probes"] = {p.name: [p.blocked, p.detail] for p in jail.run_self_test()}
"""


PROBES = {
    "read_file", "write_file", "read_environment", "inet_socket", "unix_socket", "connect", "fork",
    "spawn", "execute", "signal_parent", "raise_limit", "become_root", "unshare", "trace",
    "look_at_file", "reach_loopback", "listen", "user_namespace", "shared_memory", "host_name", "change_root",
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
    for name in EXTRA - offered(identity):
        expected[name] = states[name]
    assert states == expected


@pytest.mark.parametrize("identity", IDENTITIES)
def test_without_hardening_the_probes_notice(identity: str) -> None:
    probes = jailed(SELF_TEST, identity=identity, hardening="off").said["probes"]
    blocked = {name for name, (is_blocked, _) in probes.items() if is_blocked}
    # An ordinary user cannot become root, jail or no jail, nor move one.
    expected = set[str]() if identity == "root" else {"become_root", "change_root"}
    # In a user namespace without root, becoming root is no question of permission.
    if probes["become_root"][1].endswith("EINVAL"):
        expected.discard("become_root")
    if "user_namespace" not in offered(identity):
        blocked.discard("unshare")
    assert blocked - {"user_namespace"} == expected
    assert ("user_namespace" in blocked) is ("user_namespace" not in offered(identity))
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


@pytest.mark.parametrize("identity", IDENTITIES)
def test_a_layer_can_be_left_out(identity: str) -> None:
    seen = jailed(SELF_TEST, identity=identity, layers=dict.fromkeys(EXTRA, "off"))
    for name in EXTRA:
        assert seen.said["layers"][name] == ["off", "the policy leaves it out"]
        assert seen.said["wanted"][name] == "off"
    assert seen.said["layers"]["seccomp"][0] == "on"
    assert all(blocked for blocked, _ in seen.said["probes"].values())
    assert seen.outside["process"]["own_user_namespace"] is False
    assert seen.outside["process"]["own_network_namespace"] is False
    assert seen.outside["process"]["own_root_directory"] is False


@pytest.mark.parametrize("identity", IDENTITIES)
def test_a_layer_can_be_added_to_no_hardening(identity: str) -> None:
    seen = jailed(identity=identity, hardening="off", layers={"no_new_privs": "required"})
    states = {name: state for name, (state, _) in seen.said["layers"].items()}
    assert {name for name, state in states.items() if state == "on"} == {
        "descriptors", "environment", "session", "no_new_privs",
    }  # fmt: skip
    assert seen.outside["threads"][0]["no_new_privs"] is True


NAMESPACES = ("user_namespace", "network_namespace", "ipc_namespace", "uts_namespace")


@pytest.mark.parametrize("identity", IDENTITIES)
def test_what_a_container_forbids_is_reported_and_the_rest_is_used(identity: str) -> None:
    seen = jailed(
        SELF_TEST, identity=identity, denied=["unshare"], keep_capabilities=DOCKER if identity == "root" else 0
    )
    layers = seen.said["layers"]
    for name in NAMESPACES:
        assert layers[name] == ["failed", "unshare: Operation not permitted (errno 1)"]
    # Root of a container may change its root; an ordinary user needs a user namespace for it.
    assert layers["root_directory"][0] == ("on" if identity == "root" else "failed")
    assert seen.outside["process"]["own_root_directory"] is (identity == "root")
    assert {layers[name][0] for name in ("capabilities", "no_new_privs", "seccomp")} == {"on"}
    if "landlock" in offered(identity):
        assert layers["landlock"][0] == "on"
    assert seen.outside["threads"][0]["cap_permitted"] == 0
    assert all(blocked for blocked, _ in seen.said["probes"].values())


#: What container runtimes usually leave: CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID SETPCAP NET_BIND_SERVICE
#: NET_RAW SYS_CHROOT MKNOD AUDIT_WRITE SETFCAP.
DOCKER = sum(1 << bit for bit in (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31))


@pytest.mark.parametrize(
    ("layer", "denied"),
    [("user_namespace", "unshare"), ("landlock", "landlock_create_ruleset"), ("landlock", "landlock_restrict_self")],
)
def test_what_is_forbidden_and_required_is_an_error(layer: str, denied: str) -> None:
    error = jailed(denied=[denied], share=True, layers={layer: "required"}).said["error"]
    assert error["layer"] == layer
    assert "Operation not permitted" in error["text"]
    assert error["remedy"] in error["text"]


@pytest.mark.parametrize("identity", [name for name in IDENTITIES if "network_namespace" in offered(name)])
def test_the_workers_of_a_zygote_share_an_empty_network(identity: str) -> None:
    seen = jailed(SELF_TEST, identity=identity, share=True)
    layers = seen.said["layers"]
    assert layers["network_namespace"] == ["on", "own, shared by the workers of a zygote"]
    assert {layers[name][0] for name in offered(identity)} == {"on"}
    assert all(blocked for blocked, _ in seen.said["probes"].values())
    # The one who looks is the zygote here, in the same network; who looks from elsewhere sees another one.
    assert seen.outside["process"]["own_network_namespace"] is False


def test_capabilities_that_cannot_be_given_up_are_fatal(monkeypatch: pytest.MonkeyPatch) -> None:
    # Also where everything is only "used". No filter can refuse capset alone, so the layer itself is made to fail.
    def fail(context: Context) -> Outcome:
        raise OSError(errno.EPERM, "capset: refused")

    layer = next(layer for layer in LAYERS if layer.name == "capabilities")._replace(apply=fail)
    monkeypatch.setattr(sealing, "_prepared", Prepared())
    with pytest.raises(jail.JailError, match="capset: refused"):
        sealing.build([layer], jail.JailPolicy(hardening="used"), [])


ALONE = """
import sys
sys.path.insert(0, sys.argv[1])
from codemode_executor import jail
print({layer.state for layer in jail.apply(jail.JailPolicy(), []).layers} <= {"on", "off"}, file=sys.stderr)
"""


def test_nothing_need_be_kept() -> None:
    # Nothing is prepared either: `apply` does that itself.
    done = subprocess.run(
        [sys.executable, "-I", "-c", ALONE, str(PACKAGES)], stderr=subprocess.PIPE, text=True, timeout=30, check=False
    )
    assert done.stderr.splitlines()[0] == ("True" if offered(IDENTITIES[-1]) >= EXTRA else "False")


ELSEWHERE = """
import sys
sys.path.insert(0, sys.argv[1])
from codemode_executor import jail
sys.platform = "darwin"
for layer in jail.apply(jail.JailPolicy(hardening="used", nice=1), []).layers:
    print(layer.name, layer.state, layer.detail, sep="|", file=sys.stderr)
"""


def test_used_elsewhere_is_what_every_system_offers() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", ELSEWHERE, str(PACKAGES)],
        stderr=subprocess.PIPE,
        text=True,
        timeout=30,
        check=True,
    )
    layers = {name: (state, detail) for name, state, detail in (line.split("|") for line in done.stderr.splitlines())}
    assert {name for name, (state, _) in layers.items() if state == "on"} - {"identity"} == {
        "descriptors", "environment", "session", "priority", "limits",
    }  # fmt: skip
    assert layers["seccomp"] == ("failed", "not offered by darwin")
    assert layers["landlock"] == ("failed", "not offered by darwin")


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
