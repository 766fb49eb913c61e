"""A worker in the hands of whoever broke out of V8: programs that begin with ``#python`` run as Python in it.

Only for tests. ``EscapeAdapter`` starts the engine with this module's ``main`` as the entry of its processes; all else
is the engine's own: the zygote, the fork, the jail, the sockets, the supervisor. A ``Preparation`` takes layers of the
jail away, as if their code did nothing, to show that the attacks notice.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn

import msgspec

from codemode_executor import IsolateExecutor, Limits
from codemode_executor import zygote as supervisor_zygote

from .adapter import IsolateAdapter
from .surroundings import workers

MARK = "#python"


class Preparation(msgspec.Struct, frozen=True):
    """What is done to a worker before it serves.

    Attributes:
        disabled: layers that are taken away.
        setup: ``descriptor``: it inherits an open file with the secret; ``variable``: it inherits an environment with
            the secret; ``thread``: it has a second thread before it is jailed.
        secret: the file with the secret.
    """

    disabled: list[str] = []
    setup: list[str] = []
    secret: str = ""


class EscapeAdapter(IsolateAdapter):
    """The engine, with one worker that runs ``#python`` programs.

    One zygote forks workers of every preparation: each reads its own when it is forked.

    Args:
        hardening: of the engine. It refuses to work without a layer that it requires.
        disabled: layers that zygotes have to leave out already, because they are made there for all workers.
    """

    name = "IsolateExecutor, broken out of"

    def __init__(self, hardening: Literal["required", "used"] = "required", disabled: Sequence[str] = ()) -> None:
        super().__init__(
            lambda: IsolateExecutor(
                limits=Limits(timeout_s=120, memory_mb=256),
                min_workers=1,
                max_workers=1,
                hardening=hardening,
                layers=dict.fromkeys(disabled, "off"),
            )
        )
        self._folder = tempfile.TemporaryDirectory(prefix="adversarial-workers-")
        self._file = Path(self._folder.name) / "preparation"
        self._file.write_bytes(msgspec.json.encode(Preparation()))
        self._engines_own = supervisor_zygote._ENTRY

    async def open(self) -> None:
        """Start the engine with the entry of this module."""
        supervisor_zygote._ENTRY = _ENTRY.format(file=str(self._file))
        await super().open()

    async def prepare(self, preparation: Preparation) -> None:
        """Have every worker be so from now on; those that there are already are ended."""
        fresh = self._file.with_suffix(".fresh")
        fresh.write_bytes(msgspec.json.encode(preparation))
        fresh.rename(self._file)
        for pid in (ended := workers()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(_END_S):
            while set(ended) & set(workers()):
                await asyncio.sleep(0.005)

    async def close(self) -> None:
        """End it, and give the engine its entry back."""
        try:
            await super().close()
        finally:
            supervisor_zygote._ENTRY = self._engines_own
            self._folder.cleanup()


_END_S = 10.0
_ENTRY = "import sys; sys.path[:] = {{path!r}}; from adversarial.escape import main; main({file!r})"


def main(file: str) -> NoReturn:
    """Entry of the zygote.

    Args:
        file: where each worker finds its preparation.
    """
    from codemode_executor.worker import zygote

    become_worker = zygote.Zygote._become_worker

    def become_another_worker(self: zygote.Zygote, descriptor: int, stderr: int) -> NoReturn:
        try:
            _prepare(msgspec.json.decode(Path(file).read_bytes(), type=Preparation))
        except BaseException as error:
            os.write(stderr, f"the preparation failed: {error!r}\n".encode())
            os._exit(1)
        become_worker(self, descriptor, stderr)

    zygote.Zygote._become_worker = become_another_worker
    _run_python_too()
    zygote.main()


def _prepare(preparation: Preparation) -> None:
    """In a worker that was just forked: what was asked for is true of it as if it had been so of the zygote."""
    from codemode_executor.jail import policy as jail_policy
    from codemode_executor.jail import sealing
    from codemode_executor.jail.layer import Outcome
    from codemode_executor.jail.layers import LAYERS
    from codemode_executor.worker import zygote
    from codemode_executor.worker.main import Worker

    if "descriptor" in preparation.setup:
        os.open(preparation.secret, os.O_RDONLY)
    if "variable" in preparation.setup:
        with open(preparation.secret) as file:
            os.environ["HANDED_DOWN"] = file.read()
    if "thread" in preparation.setup:
        seal = Worker.seal

        def seal_late(self: Worker, policy: Any) -> None:
            threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
            seal(self, policy)

        Worker.seal = seal_late
    # What the policy can leave out is left out there; the rest does nothing and says that it did.
    own_policy: Callable[[Any], Any] = zygote._policy
    off = {name: "off" for name in preparation.disabled if name not in jail_policy.HYGIENE}
    zygote._policy = lambda setup: msgspec.structs.replace(
        own_policy(setup), layers={**own_policy(setup).layers, **off}
    )
    sealing.__dict__["LAYERS"] = tuple(
        layer._replace(apply=lambda _: Outcome("on", "taken away")) if layer.name in preparation.disabled else layer
        for layer in LAYERS
    )


def _run_python_too() -> None:
    from codemode_executor.worker.run import GuestRun

    start = GuestRun.start

    def start_or_break_out(self: GuestRun, reading: Any) -> None:
        if self.text.startswith(MARK):
            _break_out(self)
        else:
            start(self, reading)

    GuestRun.start = start_or_break_out


def _break_out(run: Any) -> None:
    """Run the text as Python. It finds ``env``, the socket's number as ``channel``, and ``answer`` for its result."""
    from codemode_executor.wire import messages as wire

    scope: dict[str, Any] = {
        "env": json.loads(run._message.env),
        "channel": run._outbox._sock.fileno(),
        "answer": None,
        "run": run,
        "wire": wire,
        "os": os,
        "sys": sys,
    }
    try:
        exec(run.text, scope)
    except BaseException as error:
        text = f"{type(error).__name__}: {error}"
        run._conclude(run._outcome(wire.OUTCOME_THROWN, name=type(error).__name__, message=text[:1000]))
        return
    value = json.dumps(scope["answer"], default=repr).encode()
    run._conclude(run._outcome(wire.OUTCOME_RESULT, form=1, value=value))
