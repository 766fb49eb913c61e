"""``codemode-executor serve``."""

from __future__ import annotations

import argparse
import os

import msgspec

from ..daemon.accounts import parse_tokens, read_token_file
from ..daemon.settings import DEFAULT_PORT, LISTS, PREFIX, Settings, load, option_names, token_of
from ..errors import BadRequest
from ..limits import Limits

_SWITCHES = ("plaintext", "log_programs", "allow_overcommit")
_METAVARS = {
    "host": "ADDRESS",
    "unix": "PATH",
    "token_file": "PATH",
    "tls_cert": "PATH",
    "tls_key": "PATH",
    "allowed_hosts": "NAMES",
    "allowed_origins": "ORIGINS",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What ``serve`` takes: every setting as a flag."""
    parser.description = (
        "Serve JavaScript hosts over a WebSocket. Every option is also a variable of the environment"
        f" ({PREFIX}MAX_QUEUE) and a key of the TOML file (max_queue); a flag counts before the environment,"
        f" that before the file. Tokens come from --token-file or {PREFIX}TOKEN. The default address is"
        f" 127.0.0.1:{DEFAULT_PORT}."
    )
    parser.add_argument("--config", metavar="PATH", help="TOML file of settings; limits are its table [limits]")
    defaults = {field.name: field for field in msgspec.structs.fields(Settings)}
    for name in option_names():
        flag = f"--{name.replace('_', '-')}"
        if name in _SWITCHES:
            parser.add_argument(flag, dest=f"set_{name}", action="store_const", const="true")
            continue
        default = defaults[name].default
        shown = "" if default in (None, msgspec.NODEFAULT) or name in LISTS else f"default {default}"
        metavar = _METAVARS.get(name, "VALUE")
        parser.add_argument(flag, dest=f"set_{name}", metavar=metavar, help=shown or None)
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"the widest bound of a run: {', '.join(Limits.__struct_fields__)}",
    )
    parser.add_argument(
        "--die-with-parent", action="store_true", help="leave when standard input ends, which the parent keeps open"
    )


def serve(options: argparse.Namespace) -> None:
    """Be the daemon.

    Raises:
        BadRequest: something given is unusable.
        ExecutorError: no worker can be started.
    """
    from ..daemon.process import serve as serve_daemon  # the other commands need no server

    flags = {name: value for name in option_names() if (value := getattr(options, f"set_{name}")) is not None}
    limits: dict[str, str] = {}
    for item in options.limit:
        name, separator, value = item.partition("=")
        if not separator:
            raise BadRequest(f"--limit must be NAME=VALUE, not {item!r}")
        limits[name] = value
    settings = load(flags, limits, os.environ, options.config)
    serve_daemon(settings, _tokens(settings), die_with_parent=options.die_with_parent)


def _tokens(settings: Settings) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    if settings.token_file == "-":
        from ..daemon.process import read_token_line

        tokens += parse_tokens(read_token_line(), "standard input")
    elif settings.token_file is not None:
        tokens += read_token_file(settings.token_file)
    token = token_of(os.environ)
    if token is not None:
        tokens.append(("environment", token))
    return tokens
