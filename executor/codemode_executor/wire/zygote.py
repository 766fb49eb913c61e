"""Messages between the supervisor and its zygote. Each ``Fork`` brings one descriptor, each ``Forked`` one back."""

from __future__ import annotations

import msgspec


class Setup(msgspec.Struct, tag="setup", array_like=True, frozen=True):
    """First message: what the zygote makes of itself, and of every worker.

    ``one_run``: a worker serves one run and prepares nothing for another. ``layers``: what holds for single layers of
    the jail, other than ``hardening``. ``jitless``: V8 compiles nothing, and needs no executable memory.
    """

    v8_flags: list[str]
    hardening: str
    data_headroom_bytes: int
    memory_bytes: int
    max_frame_bytes: int
    seccomp_action: str
    one_run: bool
    layers: dict[str, str] = {}
    jitless: bool = False


class Fork(msgspec.Struct, tag="fork", array_like=True, frozen=True):
    """Fork a worker; the descriptor that comes along is its socket."""

    worker: int


class Retire(msgspec.Struct, tag="retire", array_like=True, frozen=True):
    """Fork no more; leave when the last worker has."""


ToZygote = Setup | Fork | Retire


class Started(msgspec.Struct, tag="started", array_like=True, frozen=True):
    """The engine is loaded."""


class Forked(msgspec.Struct, tag="forked", array_like=True, frozen=True):
    """A worker exists; the descriptor that comes along is its pidfd."""

    worker: int
    pid: int


class ForkFailed(msgspec.Struct, tag="fork_failed", array_like=True, frozen=True):
    """The operating system refused."""

    worker: int
    message: str


class Exited(msgspec.Struct, tag="exited", array_like=True, frozen=True):
    """A worker is gone. ``status``: exit status, or the negated signal number."""

    worker: int
    status: int
    stderr: str


FromZygote = Started | Forked | ForkFailed | Exited

encode = msgspec.msgpack.Encoder().encode
decode_to_zygote = msgspec.msgpack.Decoder(ToZygote).decode
decode_from_zygote = msgspec.msgpack.Decoder(FromZygote).decode
