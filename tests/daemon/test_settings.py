"""Flags before the environment before the file before the defaults, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codemode_executor import BadRequest, Limits
from codemode_executor.daemon.settings import Settings, load


def test_defaults_are_a_daemon_of_this_machine_alone() -> None:
    settings = load({}, {}, {}, None)
    assert settings == Settings()
    assert (settings.host, settings.tcp_port, settings.listens_on_tcp, settings.hardening) == (
        "127.0.0.1",
        8787,
        True,
        "required",
    )
    assert settings.runs_per_token < 32 + settings.max_queue


def test_who_is_heard_first(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(
        'port = 1\nmax_queue = 1\nheartbeat_s = 1\nallowed_hosts = ["a"]\n'
        "[limits]\ntimeout_s = 1\nmemory_mb = 100\ncpu_s = 9\n"
    )
    environment = {
        "CODEMODE_SERVE_PORT": "2",
        "CODEMODE_SERVE_MAX_QUEUE": "2",
        "CODEMODE_SERVE_LIMIT_TIMEOUT_S": "2",
        "CODEMODE_SERVE_LIMIT_MEMORY_MB": "200",
        "CODEMODE_SERVE_ALLOWED_ORIGINS": "https://a.example, https://b.example",
        "CODEMODE_SERVE_TOKEN": "not a setting",
        "PATH": "/bin",
    }
    settings = load({"port": "3", "plaintext": "true"}, {"timeout_s": "3.5"}, environment, str(file))
    assert (settings.port, settings.max_queue, settings.heartbeat_s) == (3, 2, 1.0)
    assert settings.allowed_hosts == ["a"]
    assert settings.allowed_origins == ["https://a.example", "https://b.example"]
    assert settings.plaintext
    assert settings.limits == Limits(timeout_s=3.5, memory_mb=200, cpu_s=9)
    assert load({}, {}, environment | {"CODEMODE_SERVE_CONFIG": str(file)}, None).heartbeat_s == 1.0


def test_a_unix_socket_stands_alone_unless_a_port_is_asked_for() -> None:
    assert not Settings(unix="/x").listens_on_tcp
    assert Settings(unix="/x", port=0).listens_on_tcp


@pytest.mark.parametrize(
    ("flags", "limits", "environment", "text"),
    [
        ({"port": "many"}, {}, {}, "--port sets port to 'many'"),
        ({"port": "70000"}, {}, {}, "port is 70000"),
        ({}, {}, {"CODEMODE_SERVE_PORTS": "1"}, "CODEMODE_SERVE_PORTS sets 'ports'"),
        ({}, {}, {"CODEMODE_SERVE_MAX_QUEUE": "x"}, "CODEMODE_SERVE_MAX_QUEUE"),
        ({}, {"time": "1"}, {}, "the limit 'time'"),
        ({}, {"timeout_s": "x"}, {}, "--limit sets timeout_s to 'x'"),
        ({}, {"timeout_s": "-1"}, {}, "greater than 0"),
        ({"hardening": "none"}, {}, {}, "hardening"),
        ({"tls_cert": "a"}, {}, {}, "belong together"),
        ({"host": "0.0.0.0"}, {}, {}, "unencrypted"),
        ({"host": "example.internal"}, {}, {}, "unencrypted"),
        ({"allowed_origins": "*"}, {}, {}, "allowed_origins"),
        ({"allowed_origins": "https://a,null"}, {}, {}, "null"),
        ({"heartbeat_s": "nan"}, {}, {}, "heartbeat_s"),
        ({"max_message_bytes": "1"}, {}, {}, "max_message_bytes"),
    ],
)
def test_what_is_refused(flags: dict[str, Any], limits: dict[str, str], environment: dict[str, str], text: str) -> None:
    with pytest.raises(BadRequest, match=text):
        load(flags, limits, environment, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("port = ", "is not TOML"),
        ('port = "80"x', "is not TOML"),
        ("port = 1.5", "sets port to 1.5"),
        ("ports = 1", "'ports'"),
        ("limits = 3", "'limits'"),
        ("[limits]\nx = 3", "the limit 'x'"),
        ("[limits]\nmemory_mb = true", "memory_mb"),
        ('token = "x"', "'token'"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(text)
    with pytest.raises(BadRequest, match=message):
        load({}, {}, {}, str(file))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="cannot be read"):
        load({}, {}, {}, str(tmp_path / "none"))
