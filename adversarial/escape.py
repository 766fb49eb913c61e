"""A worker in the hands of whoever broke out of V8: programs that begin with ``#python`` run as Python in it.

Only for tests. ``EscapeAdapter`` starts the engine with this module's ``main`` as the entry of its processes; all else
is the engine's own: the zygote, the fork, the jail, the sockets, the supervisor. ``disabled`` takes layers of the jail
away, as if their code did nothing, to show that the attacks notice.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import msgspec

from codemode_executor import IsolateExecutor, Limits
from codemode_executor import zygote as supervisor_zygote

from .adapter import IsolateAdapter

MARK = "#python"


class Preparation(msgspec.Struct, frozen=True):
    """What is done to the processes before they serve.

    Attributes:
        disabled: layers that are taken away.
        setup: ``descriptor``: the zygote holds an open file with the secret; ``variable``: its environment has the
            secret; ``thread``: a worker has a second thread before it is jailed.
        secret: the file with the secret.
    """

    disabled: list[str]
    setup: list[str]
    secret: str


class EscapeAdapter(IsolateAdapter):
    """The engine, with one worker that runs ``#python`` programs.

    Args:
        disabled: layers of the jail that are taken away. The engine is then told to use what it finds, for it would
            refuse to start.
        setup: see ``Preparation``.
        secret: the file with the secret.
    """

    name = "IsolateExecutor, broken out of"

    def __init__(self, disabled: Sequence[str] = (), setup: Sequence[str] = (), secret: str = "") -> None:
        hardening = "used" if disabled else "required"
        super().__init__(
            lambda: IsolateExecutor(
                limits=Limits(timeout_s=120, memory_mb=256), min_workers=1, max_workers=1, hardening=hardening
            )
        )
        preparation = Preparation(list(disabled), list(setup), secret)
        self._entry = _ENTRY.format(preparation=msgspec.json.encode(preparation).hex())
        self._engines_own = supervisor_zygote._ENTRY

    async def open(self) -> None:
        """Start the engine with the entry of this module."""
        supervisor_zygote._ENTRY = self._entry
        await super().open()

    async def close(self) -> None:
        """End it, and give the engine its entry back."""
        try:
            await super().close()
        finally:
            supervisor_zygote._ENTRY = self._engines_own


_ENTRY = (
    "import sys; sys.path[:] = {{path!r}}; from adversarial.escape import main; main(bytes.fromhex('{preparation}'))"
)


def main(encoded: bytes) -> NoReturn:
    """Entry of the zygote."""
    preparation = msgspec.json.decode(encoded, type=Preparation)
    _change(preparation)
    from codemode_executor.worker.zygote import main as zygote_main

    zygote_main()


def _change(preparation: Preparation) -> None:
    from codemode_executor.jail import policy as jail_policy
    from codemode_executor.jail import sealing
    from codemode_executor.jail.layer import Outcome
    from codemode_executor.worker import zygote
    from codemode_executor.worker.main import Worker
    from codemode_executor.worker.run import GuestRun

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
    # What the policy can leave out is left out there, so that nothing of it is prepared either.
    own_policy: Callable[[Any], Any] = zygote._policy
    off = {name: "off" for name in preparation.disabled if name not in jail_policy.HYGIENE}
    zygote._policy = lambda setup: msgspec.structs.replace(
        own_policy(setup), layers={**own_policy(setup).layers, **off}
    )
    sealing.LAYERS = tuple(
        layer._replace(apply=lambda _: Outcome("on", "taken away")) if layer.name in preparation.disabled else layer
        for layer in sealing.LAYERS
    )
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
