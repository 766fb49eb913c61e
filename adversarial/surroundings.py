"""What an attack could touch, and the host's own eyes on it: nothing here asks the executor or believes a program."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import secrets
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

from .ways_out import WaysOut

_PAGE = os.sysconf("SC_PAGE_SIZE")
_NOBODY = 65534
_CAPABILITY_VERSION = 0x2008_0522
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_CHILD_SUBREAPER = 36
_SHM_BYTES = 4096
_IPC_CREAT = 0o1000
_IPC_RMID = 0
_SETTLE_S = 10.0
_MANY_THREADS = 128
_ORPHAN_S = 1.0


#: Children of this process that are watched by nobody here, with all that they start.
SOMEBODY_ELSES: set[int] = set()


class Process(NamedTuple):
    """One line of /proc/<pid>/stat."""

    pid: int
    parent: int
    state: str
    session: int
    nice: int


def _process(pid: int) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return Process(pid, int(fields[1]), fields[0].decode(), int(fields[3]), int(fields[16]))


def _children(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                yield from map(int, file.read().split())


def descendants() -> list[Process]:
    """Every living process that this one brought into the world, zombies and ``SOMEBODY_ELSES`` left out."""
    found: list[Process] = []
    queue = [os.getpid()]
    while queue:
        for pid in _children(queue.pop()):
            if pid in SOMEBODY_ELSES:
                continue
            process = _process(pid)
            if process is not None and process.state not in "ZX":
                found.append(process)
                queue.append(pid)
    return found


def _bury() -> None:
    """Take notice of the end of processes that came to this one when they had lost their parent.

    Those have sessions of executors, which have all been closed by now; its own are somebody else's to wait for.
    """
    own = os.getsid(0)
    for pid in _children(os.getpid()):
        process = _process(pid)
        if process is not None and process.state == "Z" and process.session != own:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def workers() -> list[int]:
    """The workers of every executor of this process: the children of its own children."""
    processes = descendants()
    direct = {process.pid for process in processes if process.parent == os.getpid()}
    return [process.pid for process in processes if process.parent in direct]


def _resident_mb(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE / 2**20
    except (OSError, IndexError, ValueError):
        return 0.0


class Seen(NamedTuple):
    """What a watch has seen: MiB, and processor seconds of this process."""

    host_mb: float
    worker_mb: float
    host_cpu_s: float


class Watch:
    """Samples memory while an attack goes on, in a thread: the event loop may be what is attacked.

    Args:
        every_s: seconds between two samples. Each is a look at every process.
    """

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._over = threading.Event()
        self._host_mb = self._before_mb = _resident_mb(os.getpid())
        self._worker_mb = 0.0
        self._own_cpu_s = 0.0
        self._cpu_before_s = time.process_time()
        self._thread = threading.Thread(target=self._sample, name="adversarial-watch", daemon=True)
        self._thread.start()

    def _sample(self) -> None:
        while not self._over.wait(self._every_s):
            self._host_mb = max(self._host_mb, _resident_mb(os.getpid()))
            for process in descendants():
                self._worker_mb = max(self._worker_mb, _resident_mb(process.pid))
        self._own_cpu_s = time.thread_time()

    def stop(self) -> Seen:
        """What was seen; the watch is over."""
        cpu_s = time.process_time() - self._cpu_before_s
        host_mb = max(self._host_mb, _resident_mb(os.getpid()))
        self._over.set()
        self._thread.join()
        return Seen(host_mb - self._before_mb, self._worker_mb, cpu_s - self._own_cpu_s)


class Surroundings:
    """A secret in every place where a program has no business, and ears on every way out."""

    def __init__(self) -> None:
        self.secret = f"secret-{secrets.token_hex(16)}"
        self.reached: list[str] = []
        self._variable = f"ADVERSARIAL_SECRET_{secrets.token_hex(4)}"
        self._stack = contextlib.ExitStack()
        self._servers: list[asyncio.Server] = []
        self._ways: WaysOut | None = None
        self._sockets: list[asyncio.BaseTransport] = []
        self._decoy: subprocess.Popen[bytes] | None = None
        self._directory = Path()
        self._env: dict[str, object] = {}

    @property
    def ways(self) -> WaysOut:
        """The ways to the network that a host may open."""
        assert self._ways is not None
        return self._ways

    @property
    def env(self) -> dict[str, object]:
        """Where everything is; the attacks know it all."""
        return dict(self._env)

    def _lay_out(self) -> Path:
        """A file and a variable with the secret, and a process to be harmed."""
        directory = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="adversarial-")))
        directory.chmod(0o777)  # whoever the worker is, nothing but its jail keeps it out
        (directory / "secret").write_text(self.secret)
        (directory / "secret").chmod(0o666)
        os.environ[self._variable] = self.secret
        self._stack.callback(os.environ.pop, self._variable, None)
        self._decoy = subprocess.Popen(["sleep", "600"], user=_NOBODY if os.getuid() == 0 else None)
        return directory

    def _adopt(self) -> None:
        """Whoever loses its parent comes to this process, where it is seen, and not to the machine's first one."""
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
        self._stack.callback(libc.prctl, _PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        self._stack.callback(_bury)

    async def __aenter__(self) -> Self:
        self._adopt()
        directory = self._directory = self._lay_out()
        loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        self._servers = [server]
        with contextlib.suppress(OSError):  # a machine without IPv6 has no such way in
            self._servers.append(await asyncio.start_server(self._connected, "::1", port))
        self._ways = await WaysOut(port, self.reached).__aenter__()
        transport, _ = await loop.create_datagram_endpoint(lambda: _Ear(self.reached), local_addr=(host, port))
        abstract = f"\0{self.secret[:20]}"
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        listening.bind(abstract)
        unix, _ = await loop.create_datagram_endpoint(lambda: _Ear(self.reached), sock=listening)
        self._sockets = [transport, unix]
        self._env = {
            "dir": str(directory),
            "host": host,
            "port": port,
            "abstract": abstract[1:],
            "pid": os.getpid(),
            "decoy": self._decoy.pid if self._decoy else 0,
            "shm": self._share(),
            "variable": self._variable,
        }
        return self

    async def __aexit__(self, *_: object) -> None:
        for transport in self._sockets:
            transport.close()
        if self._ways is not None:
            await self._ways.__aexit__()
        for server in self._servers:
            server.close()
            await server.wait_closed()
        await asyncio.sleep(0)  # transports close their sockets in the loop's next turn
        if self._decoy is not None:
            self._decoy.kill()
            self._decoy.wait()
        self._stack.close()

    async def _connected(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reached.append("a TCP connection")
        body = self.secret.encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    def _share(self) -> int:
        """Shared memory of System V with the secret in it, open to everybody; answers its key."""
        libc = ctypes.CDLL(None, use_errno=True)
        libc.shmat.restype = ctypes.c_void_p
        key = secrets.randbelow(2**30) + 1
        number = libc.shmget(key, _SHM_BYTES, _IPC_CREAT | 0o666)
        if number < 0:
            raise OSError(ctypes.get_errno(), "shmget")
        self._stack.callback(libc.shmctl, number, _IPC_RMID, None)
        address = libc.shmat(number, None, 0)
        ctypes.memmove(address, self.secret.encode(), len(self.secret))
        libc.shmdt(ctypes.c_void_p(address))
        return key

    def touched(self) -> list[str]:
        """What was done to the surroundings since they were made, or since the last look."""
        found, self.reached[:] = [f"the host saw {what}" for what in self.reached], []
        names = sorted(path.name for path in self._directory.iterdir())
        if names != ["secret"]:
            found.append(f"files were made: {names}")
            for name in names:
                if name != "secret":
                    (self._directory / name).unlink()
        if (self._directory / "secret").read_text() != self.secret:
            found.append("a file was written")
            (self._directory / "secret").write_text(self.secret)
        if self._decoy is not None and self._decoy.poll() is not None:
            found.append(f"another process was ended ({self._decoy.returncode})")
            self._decoy = None
        return found

    def strangers(self, generations: int) -> list[str]:
        """End every process that is neither the host's own nor an executor's, of which there are ``generations``."""
        processes = descendants()
        # What came here when it lost its parent is in the session of a worker, or in that of a worker's parent.
        at_home = {process.pid: (process.pid, os.getsid(0)) for process in processes if process.parent == os.getpid()}
        known = {process.pid for process in processes if process.session in at_home.get(process.pid, ())}
        for _ in range(1, generations):
            known |= {process.pid for process in processes if process.parent in known}
        found: list[str] = []
        for process in processes:
            if process.pid not in known:
                found.append(f"process {process.pid} was started by {process.parent}")
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
        return found


class _Ear(asyncio.DatagramProtocol):
    def __init__(self, reached: list[str]) -> None:
        self._reached = reached

    def datagram_received(self, data: bytes, addr: object) -> None:
        del data, addr
        self._reached.append("a datagram")


def _status(pid: int) -> dict[str, str]:
    with open(f"/proc/{pid}/status", "rb") as file:
        lines = file.read().decode("utf-8", "replace").splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def _core_limit(pid: int) -> str:
    with open(f"/proc/{pid}/limits", "rb") as file:
        for line in file.read().decode().splitlines():
            if line.startswith("Max core file size"):
                return line.split()[-2]
    return "?"


def _own(pid: int, name: str) -> bool:
    """A file of /proc that says another thing about the process than about this one."""
    return Path(f"/proc/{pid}/{name}").read_bytes() != Path(f"/proc/self/{name}").read_bytes()


def _is_root_by_another_name() -> bool:
    """This host's user is the machine's root outside its user namespace. The kernel counts no threads of his."""
    first, outside, *_ = Path("/proc/self/uid_map").read_text().split()
    return os.getuid() != 0 and (int(first), int(outside)) == (os.getuid(), 0)


def _look_at(pid: int, what: str) -> object:
    process = _process(pid)
    assert process is not None
    match what:
        case "own_session":
            return process.session == pid
        case "nice":
            return process.nice - os.getpriority(os.PRIO_PROCESS, 0)
        case "oom_score_adj":
            return int(Path(f"/proc/{pid}/oom_score_adj").read_text())
        case "core_limit":
            return _core_limit(pid)
        case "root":
            return "0" in _status(pid)["Uid"].split() + _status(pid)["Gid"].split()
        case "capabilities":
            return int(_status(pid)["CapEff"], 16) | int(_status(pid)["CapPrm"], 16) | int(_status(pid)["CapInh"], 16)
        case "no_new_privs":
            return _status(pid)["NoNewPrivs"] == "1"
        case "seccomp":
            return int(_status(pid)["Seccomp"])
        case "many_threads":
            return int(_status(pid)["Threads"]) > _MANY_THREADS and not _is_root_by_another_name()
        case "readable_by_a_neighbour":
            return _readable_by_a_neighbour(pid)
        case "own_users":
            return _own(pid, "uid_map")
        case "own_network":
            return _own(pid, "net/dev")
        case "dies_with_its_parent":
            return _dies_with_its_parent(process)
        case _:
            raise ValueError(f"the host does not know how to look for {what!r}")


def _without_privileges() -> None:
    """In a child before its program: no capability, and none by being root."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, nothing = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.capset(header, nothing) != 0:
        raise OSError(ctypes.get_errno(), "the neighbour keeps its privileges")


def _readable_by_a_neighbour(pid: int) -> bool:
    """Another process of the same user sees what the worker has in its memory."""
    uid = int(_status(pid)["Uid"].split()[0])
    neighbour = subprocess.run(
        ["cat", f"/proc/{pid}/maps"],
        user=None if uid == os.getuid() else uid,
        preexec_fn=_without_privileges,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return len(neighbour.stdout) > 0


def _dies_with_its_parent(worker: Process) -> bool:
    """A stopped process reads no socket: only the kernel can end it when its parent is gone."""
    os.kill(worker.pid, signal.SIGSTOP)
    os.kill(worker.parent, signal.SIGKILL)
    until = time.monotonic() + _ORPHAN_S
    while time.monotonic() < until:
        process = _process(worker.pid)
        if process is None or process.state in "ZX":
            return True
        time.sleep(0.01)
    os.kill(worker.pid, signal.SIGKILL)
    return False


def look(expected: dict[str, object]) -> list[str]:
    """Look at every worker, and say what is not as expected."""
    if not (pids := workers()):
        return ["there is no worker to look at"]
    found: list[str] = []
    for pid in pids:
        for what, wanted in expected.items():
            seen = _look_at(pid, what)
            if seen != wanted:
                found.append(f"worker {pid}: {what} is {seen!r} and should be {wanted!r}")
    return found


def descriptors() -> int:
    """How many this process has open."""
    return len(os.listdir("/proc/self/fd"))


def own_children() -> frozenset[int]:
    """The processes that this one has started, or that came to it."""
    return frozenset(process.pid for process in descendants() if process.parent == os.getpid())


async def settle(wanted: int, before: frozenset[int]) -> str:
    """Wait until this process is as it was; otherwise, what there is.

    Args:
        wanted: descriptors that it had.
        before: its children; what they have below them is theirs.
    """
    until = time.monotonic() + _SETTLE_S
    while (count := descriptors()) > wanted or own_children() - before:
        if time.monotonic() > until:
            return f"the host has {count} descriptors and had {wanted}; its processes are {descendants()}"
        await asyncio.sleep(0.02)
    return ""
