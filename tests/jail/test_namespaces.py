"""The namespaces, behind a filter that is taken as broken."""

from pathlib import Path

import pytest

from jail.harness import IDENTITIES, jailed, offered

# Tests may themselves run in a user namespace without root.
KNOWS_ROOT = any(int(line.split()[0]) == 0 for line in Path("/proc/self/uid_map").read_text().splitlines())
OFFERED = [name for name in IDENTITIES if "user_namespace" in offered(name)]
BROKEN = {"seccomp": "off", "limits": "off", "root_directory": "off", "landlock": "off"}

ATTEMPTS = """
import ctypes, errno, socket
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, action):
    try:
        answer[name] = action()
    except OSError as refusal:
        answer[name] = errno.errorcode[refusal.errno]
def interfaces_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        up = []
        for _, name in socket.if_nameindex():
            import fcntl, struct
            flags = struct.unpack_from("<16xH", fcntl.ioctl(channel, 0x8913, struct.pack("<16s24x", name.encode())))[0]
            if flags & 1:
                up.append(name)
        return up
def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        import fcntl, struct
        fcntl.ioctl(channel, 0x8914, struct.pack("<16sH22x", b"lo", 1))
        return "raised"
def map_root():
    return os.write(os.open("/proc/self/uid_map", os.O_WRONLY), b"0 0 1")
def all_of_them():
    attempt("up", interfaces_up)
    attempt("raise", raise_loopback)
    attempt("raw", lambda: str(socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)))
    attempt("name", lambda: list(os.uname())[1])
    attempt("rename", lambda: socket.sethostname("changed"))
    attempt("root", lambda: os.setresuid(0, 0, 0))
    attempt("map", map_root)
    libc.unshare(0x40000000)
    answer["further"] = errno.errorcode.get(ctypes.get_errno(), "done")
thread = threading.Thread(target=all_of_them)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("identity", OFFERED)
@pytest.mark.parametrize("share", [False, True])
def test_there_is_nothing_to_reach_and_nothing_to_change(identity: str, share: bool) -> None:
    seen = jailed(ATTEMPTS, identity=identity, share=share, layers=BROKEN)
    assert {name: seen.said[name] for name in ("up", "raise", "raw", "name", "rename", "root", "map", "further")} == {
        "up": [], "raise": "EPERM", "raw": "EPERM", "name": "codemode-worker", "rename": "EPERM",
        # No id is mapped, so there is no root to become.
        "root": "EINVAL", "map": seen.said["map"], "further": "EPERM",
    }  # fmt: skip
    assert seen.said["map"] in ("EPERM", "EACCES")


def test_the_control_sees_the_host() -> None:
    layers = {**BROKEN, **dict.fromkeys(("user_namespace", "network_namespace", "uts_namespace"), "off")}
    said = jailed(ATTEMPTS, layers=layers).said
    assert "lo" in said["up"]
    assert said["name"] != "codemode-worker"


@pytest.mark.parametrize("identity", OFFERED)
@pytest.mark.parametrize("share", [False, True])
def test_an_outsider_sees_own_namespaces(identity: str, share: bool) -> None:
    process = jailed(identity=identity, share=share).outside["process"]
    # Who looks has moved to the shared network too.
    assert process == {
        "own_user_namespace": True,
        "own_network_namespace": not share,
        "own_root_directory": True,
        # From a user namespace without root, root's files cannot be told from nobody's.
        "dumpable": None if (share and identity != "root") or not KNOWS_ROOT else False,
    }
