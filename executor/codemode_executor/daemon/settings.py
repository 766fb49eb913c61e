"""What the daemon may be told, and by whom: flags before the environment before the file before the defaults."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from ..errors import BadRequest
from ..limits import MIB, Limits
from .gate import is_loopback

#: What names in the environment begin with.
PREFIX = "CODEMODE_SERVE_"
_LIMIT_PREFIX = PREFIX + "LIMIT_"
_TOKEN = PREFIX + "TOKEN"
_CONFIG = PREFIX + "CONFIG"

DEFAULT_PORT = 8787


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Attributes:
    host: address to listen on.
    port: port to listen on; 0 takes a free one. By default 8787, or none at all where ``unix`` is set.
    unix: path of a Unix socket to listen on, which only its owner can open.
    token_file: file of the tokens that are accepted, a line each, ``name token`` or only a token; ``-`` for the first
        line of standard input.
    tls_cert: certificate chain, PEM.
    tls_key: its private key, PEM.
    plaintext: listen without TLS beyond the loopback; somebody else encrypts.
    allowed_hosts: further names that clients may call the daemon by.
    allowed_origins: origins of web pages that may connect.
    max_connections: connections at the same time.
    connections_per_token: of these, by one token.
    runs_per_token: runs of one token at the same time, waiting ones included, for each depth of nesting. Less than
        ``max_workers`` and ``max_queue`` together, so that one token cannot fill the queue.
    max_message_bytes: longest message of a client.
    max_buffered_bytes: of what one token's clients have sent and the daemon has not read.
    open_timeout_s: how long an opening request may take.
    send_timeout_s: how long a client may take for a message.
    heartbeat_s: seconds between two pings; a client that answers none for twice as long is lost.
    drain_s: how long runs may go on after SIGTERM.
    hardening, isolation, min_workers, max_workers, max_queue, queue_timeout_s, max_retained, retained_idle_s,
        allow_overcommit: as of ``IsolateExecutor``.
    log_level: ``debug``, ``info``, ``warning`` or ``error``.
    log_programs: program texts and error messages go into the log.
    limits: the widest bounds of a run.
    """

    host: str = "127.0.0.1"
    port: int | None = None
    unix: str | None = None
    token_file: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    plaintext: bool = False
    allowed_hosts: list[str] = []
    allowed_origins: list[str] = []
    max_connections: int = 512
    connections_per_token: int = 256
    runs_per_token: int = 64
    max_message_bytes: int = 64 * MIB
    max_buffered_bytes: int = 256 * MIB
    open_timeout_s: float = 10.0
    send_timeout_s: float = 30.0
    heartbeat_s: float = 20.0
    drain_s: float = 30.0
    hardening: Literal["required", "used", "off"] = "required"
    isolation: Literal["worker", "process"] = "worker"
    min_workers: int = 2
    max_workers: int | None = None
    max_queue: int = 100
    queue_timeout_s: float = 30.0
    max_retained: int = 16
    retained_idle_s: float = 60.0
    allow_overcommit: bool = False
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_programs: bool = False
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            value = cast("int | float | None", getattr(self, name))
            if value is not None and not low <= value <= high:
                raise BadRequest(f"{name} is {value!r}; it must be from {low} to {high}")
        if (self.tls_cert is None) != (self.tls_key is None):
            raise BadRequest("tls_cert and tls_key belong together: give both or none")
        if self.listens_on_tcp and not is_loopback(self.host) and self.tls_cert is None and not self.plaintext:
            raise BadRequest(
                f"host {self.host!r} can be reached from other machines, and tokens and programs would cross the"
                " network unencrypted: give tls_cert and tls_key, or plaintext=true if something before it encrypts"
            )
        for origin in self.allowed_origins:
            if origin in ("*", "null"):
                raise BadRequest(f"allowed_origins cannot hold {origin!r}: list the origins of the pages")

    @property
    def listens_on_tcp(self) -> bool:
        """A port is wanted."""
        return self.unix is None or self.port is not None

    @property
    def tcp_port(self) -> int:
        """The port, where one is wanted."""
        return DEFAULT_PORT if self.port is None else self.port


_RANGES: dict[str, tuple[float, float]] = {
    "port": (0, 65535),
    "max_connections": (1, 1_000_000),
    "connections_per_token": (1, 1_000_000),
    "runs_per_token": (1, 1_000_000),
    "max_message_bytes": (1 * MIB, 512 * MIB),
    "max_buffered_bytes": (1 * MIB, 1 << 40),
    "open_timeout_s": (0.1, 3600),
    "send_timeout_s": (0.1, 3600),
    "heartbeat_s": (0.1, 3600),
    "drain_s": (0, 86400),
}

#: Settings that are lists: separated by commas in flags and in the environment.
LISTS = ("allowed_hosts", "allowed_origins")


def option_names() -> list[str]:
    """Every setting but the limits, in the order in which they are documented."""
    return [name for name in Settings.__struct_fields__ if name != "limits"]


def load(
    flags: Mapping[str, Any], limit_flags: Mapping[str, str], environment: Mapping[str, str], config: str | None
) -> Settings:
    """The settings of a daemon: flags before the environment before the file before the defaults.

    Args:
        flags: values by name; texts are read as in the environment.
        limit_flags: limits by name.
        environment: of the process.
        config: path of the TOML file; ``None`` for what ``CODEMODE_SERVE_CONFIG`` says.

    Raises:
        BadRequest: a name is unknown, or a value unusable; the message says where it was given.
    """
    path = config if config is not None else environment.get(_CONFIG)
    options: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    if path is not None:
        _merge("the file " + path, _read(path), options, limits)
    for key, value in sorted(environment.items()):
        if key.startswith(_LIMIT_PREFIX):
            _merge_limit(key, key.removeprefix(_LIMIT_PREFIX).lower(), value, limits)
        elif key.startswith(PREFIX) and key not in (_TOKEN, _CONFIG):
            _merge_option(key, key.removeprefix(PREFIX).lower(), value, options)
    for name, value in flags.items():
        _merge_option(f"--{name.replace('_', '-')}", name, value, options)
    for name, value in limit_flags.items():
        _merge_limit("--limit", name, value, limits)
    options["limits"] = _convert("limits", limits, Limits)
    return _convert("the settings", options, Settings)


def token_of(environment: Mapping[str, str]) -> str | None:
    """The token in the environment; never a flag, which everybody on the machine can read."""
    return environment.get(_TOKEN)


def _read(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text())
    except OSError as error:
        raise BadRequest(f"the file {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"the file {path} is not TOML: {error}") from error


def _merge(where: str, given: Mapping[str, Any], options: dict[str, Any], limits: dict[str, Any]) -> None:
    for name, value in given.items():
        if name == "limits" and isinstance(value, dict):
            for limit, bound in cast("dict[str, Any]", value).items():
                _merge_limit(where, limit, bound, limits)
        else:
            _merge_option(where, name, value, options)


def _merge_option(where: str, name: str, value: Any, options: dict[str, Any]) -> None:
    if name not in option_names():
        raise BadRequest(
            f"{where} sets {name!r}, which is no setting; there are {', '.join(option_names())}, and limits"
        )
    if name in LISTS and isinstance(value, str):
        value = [item.strip() for item in value.split(",") if item.strip()]
    options[name] = _checked(where, name, value, Settings)


def _merge_limit(where: str, name: str, value: Any, limits: dict[str, Any]) -> None:
    if name not in Limits.__struct_fields__:
        raise BadRequest(f"{where} sets the limit {name!r}; there are {', '.join(Limits.__struct_fields__)}")
    limits[name] = _checked(where, name, value, Limits)


def _checked(where: str, name: str, value: Any, kind: type[msgspec.Struct]) -> Any:
    field = next(field for field in msgspec.structs.fields(kind) if field.name == name)
    try:
        return msgspec.convert(value, field.type, strict=not isinstance(value, str))
    except msgspec.ValidationError as error:
        raise BadRequest(f"{where} sets {name} to {value!r}: {error}") from error


def _convert(what: str, values: dict[str, Any], kind: type[msgspec.Struct]) -> Any:
    try:
        return kind(**values)
    except (TypeError, msgspec.ValidationError) as error:
        raise BadRequest(f"{what} are unusable: {error}") from error
