"""The rights of each version, against the kernel's header, and what the ruleset forbids."""

import os
import re
from pathlib import Path

import pytest

from codemode_executor.jail import kernel, landlock
from codemode_executor.jail.syscalls import architecture
from jail.harness import IDENTITIES, jailed, offered

HEADER = Path("/usr/include/linux/landlock.h")

# The last right that came with a version; a struct grows with its fields.
EXPECTED = {
    1: (12, 0, 0, 8),
    2: (13, 0, 0, 8),
    3: (14, 0, 0, 8),
    4: (14, 2, 0, 16),
    5: (15, 2, 0, 16),
    6: (15, 2, 2, 24),
    7: (15, 2, 2, 24),
    8: (15, 2, 2, 24),
    9: (16, 2, 2, 24),
}


@pytest.mark.parametrize("version", EXPECTED)
def test_a_version_forbids_all_it_knows(version: int) -> None:
    last, net, scoped, size = EXPECTED[version]
    assert landlock.rights(version) == (2 ** (last + 1) - 1, 2**net - 1, 2**scoped - 1, size)


def test_a_later_version_forbids_what_is_known() -> None:
    assert landlock.rights(10) == landlock.rights(1000) == landlock.rights(9)


def test_no_right_of_the_header_is_left_out() -> None:
    if not HEADER.exists():
        pytest.skip("the kernel's headers are not installed")
    text = HEADER.read_text()
    found = {kind: re.findall(rf"#define LANDLOCK_{kind}_\w+\s+\(1ULL << (\d+)\)", text) for kind in KINDS}
    newest = landlock.rights(1000)
    assert found["ACCESS_FS"]
    for kind, known in zip(KINDS, (newest.fs, newest.net, newest.scoped), strict=True):
        assert sum(1 << int(bit) for bit in found[kind]) & ~known == 0, kind


@pytest.mark.skipif(
    not 1 <= landlock.abi() <= max(EXPECTED), reason="a version that this module does not know, or none"
)
def test_this_kernel_knows_no_further_right() -> None:
    arch = architecture()
    assert arch is not None
    number = arch.numbers["landlock_create_ruleset"]
    known = landlock.rights(landlock.abi())
    os.close(kernel.landlock_ruleset(number, *known))
    for field in ("fs", "net", "scoped") if known.size == 24 else ("fs",):
        further = known._replace(**{field: getattr(known, field) * 2 + 1})
        with pytest.raises(OSError, match="Invalid argument"):
            kernel.landlock_ruleset(number, *further)


KINDS = ("ACCESS_FS", "ACCESS_NET", "SCOPE")

BEHIND_A_BROKEN_FILTER = {"seccomp": "off", "limits": "off", "root_directory": "off"}

# One attempt for each right that needs no device; each path is the test's own or readable by everybody.
ATTEMPTS = """
import errno, socket
def attempt(name, action):
    try:
        action()
        answer[name] = "done"
    except OSError as refusal:
        answer[name] = errno.errorcode[refusal.errno]
def all_of_them():
    attempt("read", lambda: os.open("/etc/passwd", os.O_RDONLY))
    attempt("list", lambda: os.listdir("/"))
    attempt("write", lambda: os.open(f"{scratch}/file", os.O_WRONLY))
    attempt("truncate", lambda: os.truncate(f"{scratch}/file", 0))
    attempt("make", lambda: os.open(f"{scratch}/new", os.O_CREAT | os.O_WRONLY))
    attempt("make_directory", lambda: os.mkdir(f"{scratch}/sub"))
    attempt("make_link", lambda: os.symlink("x", f"{scratch}/link"))
    attempt("make_fifo", lambda: os.mkfifo(f"{scratch}/fifo"))
    attempt("remove", lambda: os.unlink(f"{scratch}/file"))
    attempt("remove_directory", lambda: os.rmdir(f"{scratch}/empty"))
    attempt("rename", lambda: os.rename(f"{scratch}/other", f"{scratch}/target/other"))
    attempt("execute", lambda: os.posix_spawn("/bin/true", ["true"], {}))
    attempt("memory", lambda: os.memfd_create("free"))
thread = threading.Thread(target=all_of_them)
thread.start()
thread.join()
"""


@pytest.mark.parametrize("identity", [name for name in IDENTITIES if "landlock" in offered(name)])
@pytest.mark.parametrize("wanted", ["required", "off"])
def test_no_path_is_of_use_in_a_thread_made_afterwards(identity: str, wanted: str, tmp_path: Path) -> None:
    for name in ("file", "other"):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(0o666)
    for name in ("empty", "target"):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0o777)
    for directory in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        directory.chmod(0o777)
    seen = jailed(
        f"scratch = {str(tmp_path)!r}\n{ATTEMPTS}",
        identity=identity,
        layers={**BEHIND_A_BROKEN_FILTER, "landlock": wanted},
    ).said
    answers = {name: seen[name] for name in ATTEMPT_NAMES}
    if wanted == "off":  # the control: nothing else stops any of it
        assert answers == dict.fromkeys(ATTEMPT_NAMES, "done")
        return
    assert answers.pop("memory") == "done"
    assert set(answers.values()) <= {"EACCES", "EXDEV"}
    assert (tmp_path / "file").read_text() == "x"


ATTEMPT_NAMES = (
    "read", "list", "write", "truncate", "make", "make_directory", "make_link", "make_fifo", "remove",
    "remove_directory", "rename", "execute", "memory",
)  # fmt: skip


def test_without_a_version_there_is_a_reason() -> None:
    seen = jailed(denied=["landlock_create_ruleset"], share=True)
    assert seen.said["layers"]["landlock"] == ["failed", "syscall(444): Operation not permitted"]
