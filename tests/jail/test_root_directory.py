"""The empty root, behind a filter and a Landlock that are taken as broken."""

import pytest

from jail.harness import IDENTITIES, jailed, offered

OFFERED = [name for name in IDENTITIES if "root_directory" in offered(name)]
BROKEN = {"seccomp": "off", "limits": "off", "landlock": "off"}

ATTEMPTS = """
import errno
def attempt(name, action):
    try:
        answer[name] = action()
    except OSError as refusal:
        answer[name] = errno.errorcode[refusal.errno]
def all_of_them():
    attempt("list", lambda: os.listdir("/"))
    attempt("up", lambda: os.listdir("/../../.."))
    attempt("here", lambda: os.listdir("."))
    attempt("look", lambda: os.stat("/etc").st_ino)
    attempt("proc", lambda: os.stat("/proc").st_ino)
    attempt("make", lambda: os.open("/new", os.O_CREAT | os.O_WRONLY))
    attempt("make_directory", lambda: os.mkdir("/new"))
    attempt("leave", lambda: os.chroot("/.."))
    answer["descriptors"] = [number for number in range(256) if is_directory(number)]
def is_directory(number):
    import stat
    try:
        return stat.S_ISDIR(os.fstat(number).st_mode)
    except OSError:
        return False
thread = threading.Thread(target=all_of_them)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("identity", OFFERED)
def test_nothing_is_there_and_nothing_can_be_put_there(identity: str) -> None:
    said = jailed(ATTEMPTS, identity=identity, layers=BROKEN).said
    assert {name: said[name] for name in NAMES} == {
        "list": [], "up": [], "here": [], "look": "ENOENT", "proc": "ENOENT", "make": "ENOENT",
        "make_directory": "ENOENT", "leave": "EPERM", "descriptors": [],
    }  # fmt: skip


NAMES = ("list", "up", "here", "look", "proc", "make", "make_directory", "leave", "descriptors")


@pytest.mark.parametrize("identity", OFFERED)
def test_the_control_sees_the_host(identity: str) -> None:
    said = jailed(ATTEMPTS, identity=identity, layers={**BROKEN, "root_directory": "off"}).said
    assert "etc" in said["list"]
    assert isinstance(said["look"], int)
    # The directory was made for a layer that was left out: it is closed all the same.
    assert said["descriptors"] == []
