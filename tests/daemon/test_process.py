"""The daemon as a process: what it says, which signals it knows, who it outlives."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from daemon.client import OTHER_TOKEN, TOKEN, WAIT_S, Client
from daemon.processes import COMMAND, serving
from witness import eventually, is_alive

PROVIDERS = [{"name": "t", "tools": ["x"]}]


async def test_it_says_what_listens_and_what_holds() -> None:
    async with serving("--port", "0", "--limit", "timeout_s=7") as daemon:
        said = daemon.announced
        assert said["event"] == "listening"
        assert said["url"].startswith("ws://127.0.0.1:")
        assert said["unix"] is None
        assert said["protocol"] == "codemode-executor.v1"
        assert said["limits"]["timeout_s"] == 7
        assert said["bounds"]["max_connections"] == 512
        assert said["hardening"] == "required"
        assert said["layers"]["seccomp"] == "on"
        assert said["pid"] == daemon.process.pid
        assert TOKEN not in json.dumps(said)


async def test_the_log_holds_no_program_no_value_and_no_token() -> None:
    async with serving("--port", "0", "--log-level", "debug") as daemon:
        async with await Client.open(daemon.url) as client:

            async def serve(_header: dict[str, object], _payload: str) -> str:
                return '"SECRET-ANSWER"'

            code = "async () => { console.log('SECRET-LOG'); await t.x('SECRET-ARGUMENT'); return 'SECRET-RESULT' }"
            await client.execute(code, serve, providers=PROVIDERS, env='{"K": "SECRET-ENV"}')
            await client.execute("async () => { throw new Error('SECRET-ERROR') }")
            await client.execute("async () => { SECRET-SYNTAX; = }")
        with pytest.raises(Exception, match="401"):
            await Client.open(daemon.url, token="SECRET-TOKEN-THAT-IS-WRONG")
        await eventually(lambda: any(line["event"] == "connection_closed" for line in daemon.log), "the end in the log")
    text = "".join(daemon.raw)
    assert "SECRET" not in text
    assert TOKEN not in text
    ended = [line for line in daemon.log if line["event"] == "run_ended"]
    assert [line["end"] for line in ended] == ["result", "error", "error"]
    assert ended[0]["token"] == "environment"
    assert ended[0]["tool_calls"] == 1
    events = [line["event"] for line in daemon.log]
    assert {"connection_opened", "connection_refused", "draining", "stopped"} <= set(events)
    assert all({"time", "level", "logger"} <= set(line) for line in daemon.log)


async def test_programs_are_logged_where_that_is_asked_for() -> None:
    async with serving("--port", "0", "--log-programs") as daemon:
        async with await Client.open(daemon.url) as client:
            await client.execute("async () => { throw new Error('SAID') }")
        await eventually(lambda: any(line["event"] == "run_ended" for line in daemon.log), "the run in the log")
    ended = next(line for line in daemon.log if line["event"] == "run_ended")
    assert (ended["program"], ended["message"]) == ("async () => { throw new Error('SAID') }", "SAID")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_drains(number: signal.Signals) -> None:
    async with serving("--port", "0") as daemon:
        client = await Client.open(daemon.url)
        await client.start("async () => await t.x()", providers=PROVIDERS)
        call = await client.until("call")
        daemon.process.send_signal(number)
        await client.until("draining")
        await client.send({"t": "answer", "run": 1, "call": call["call"]}, "5")
        assert (await client.finish()).value == 5
        assert (await client.closed())[0] == 1001
        assert await daemon.ended() == 0
    assert [line["event"] for line in daemon.log][-2:] == ["connection_closed", "stopped"]


async def test_a_second_signal_does_not_wait() -> None:
    async with serving("--port", "0", "--drain-s", "600") as daemon:
        client = await Client.open(daemon.url)
        await client.start("async () => { while (true); }")
        await client.until("accepted")
        daemon.process.terminate()
        await client.until("draining")
        daemon.process.terminate()
        assert (await client.closed())[0] == 1001
        assert await daemon.ended() == 0


async def test_a_daemon_that_is_killed_leaves_no_process_and_the_client_knows() -> None:
    async with serving("--port", "0") as daemon:
        client = await Client.open(daemon.url)
        await client.start("async () => { while (true); }")
        await client.until("accepted")
        assert len(daemon.family()) > 2
        daemon.process.kill()
        assert await client.closed() == (None, "")
        assert await daemon.ended() == -signal.SIGKILL


async def test_a_host_that_is_killed_leaves_no_run() -> None:
    """The host is a process of its own, killed while its run loops: the only worker is free afterwards."""
    async with serving("--port", "0", "--max-workers", "1", "--min-workers", "1") as daemon:
        program = (
            "import asyncio, sys\n"
            f"sys.path.insert(0, {str(Path(__file__).parent.parent)!r})\n"
            "from daemon.client import Client\n"
            "async def main():\n"
            f"    client = await Client.open({daemon.url!r})\n"
            "    await client.start('async () => { while (true); }')\n"
            "    await client.until('accepted')\n"
            "    print('running', flush=True)\n"
            "    await asyncio.sleep(600)\n"
            "asyncio.run(main())\n"
        )
        host = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
        assert host.stdout is not None
        async with asyncio.timeout(WAIT_S):
            assert await host.stdout.readline() == b"running\n"
        host.kill()
        await host.wait()
        async with await Client.open(daemon.url) as client:
            assert (await client.execute("async () => 'free'")).value == "free"


# --- embedded ---------------------------------------------------------------------------------------------------------


async def test_embedded_it_leaves_when_its_standard_input_ends(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    options = ("--unix", str(path), "--token-file", "-", "--die-with-parent")
    async with serving(*options, stdin=asyncio.subprocess.PIPE) as daemon:
        assert (daemon.announced["unix"], daemon.announced["url"]) == (str(path), None)
        client = await Client.open(unix=str(path))
        assert (await client.execute("async () => 1")).value == 1
        await client.start("async () => { while (true); }")
        await client.until("accepted")
        assert daemon.process.stdin is not None
        daemon.process.stdin.close()
        assert (await client.closed())[0] in (1001, None)
        assert await daemon.ended() == 0
    assert not path.exists()


async def test_embedded_it_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    parent = (
        "import subprocess, sys, time\n"
        f"command = [*{COMMAND!r}, '--unix', {str(path)!r}, '--token-file', '-', '--die-with-parent']\n"
        "child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)\n"
        f"child.stdin.write({TOKEN!r}.encode() + b'\\n'); child.stdin.flush()\n"
        "sys.stdout.buffer.write(child.stdout.readline()); sys.stdout.flush()\n"
        "time.sleep(600)\n"
    )
    host = await asyncio.create_subprocess_exec(sys.executable, "-c", parent, stdout=asyncio.subprocess.PIPE)
    assert host.stdout is not None
    async with asyncio.timeout(WAIT_S):
        pid: int = json.loads(await host.stdout.readline())["pid"]
    client = await Client.open(unix=str(path))
    await client.start("async () => { while (true); }")
    await client.until("accepted")
    assert is_alive(pid)
    host.kill()
    await host.wait()
    await client.closed()
    await eventually(lambda: not is_alive(pid), "the end of the daemon")
    assert not path.exists()


# --- what it is told --------------------------------------------------------------------------------------------------


def refused(*options: str, environment: dict[str, str] | None = None, stdin: bytes | None = None) -> tuple[int, str]:
    """Exit status and standard error of a daemon that does not come up."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("CODEMODE_SERVE_")}
    env |= environment or {}
    done = subprocess.run([*COMMAND, *options], input=stdin, capture_output=True, env=env, timeout=WAIT_S, check=False)
    assert done.stdout == b""
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize(
    ("options", "environment", "text"),
    [
        ((), {}, "no token is given"),
        ((), {"CODEMODE_SERVE_TOKEN": "short"}, "16 to 512"),
        (("--port", "x"), {"CODEMODE_SERVE_TOKEN": TOKEN}, "--port sets port to 'x'"),
        (("--limit", "timeout_s"), {"CODEMODE_SERVE_TOKEN": TOKEN}, "NAME=VALUE"),
        (("--config", "/nonexistent"), {"CODEMODE_SERVE_TOKEN": TOKEN}, "cannot be read"),
        (("--host", "0.0.0.0"), {"CODEMODE_SERVE_TOKEN": TOKEN}, "unencrypted"),
        (("--max-workers", "1000000"), {"CODEMODE_SERVE_TOKEN": TOKEN}, "max_workers"),
        (("--die-with-parent",), {"CODEMODE_SERVE_TOKEN": TOKEN}, "--die-with-parent needs a pipe"),
        (("--unix", "/nonexistent/x"), {"CODEMODE_SERVE_TOKEN": TOKEN}, "cannot listen on the Unix socket"),
    ],
)
def test_what_it_refuses_to_start_with(options: tuple[str, ...], environment: dict[str, str], text: str) -> None:
    status, said = refused(*options, environment=environment)
    assert status == 2
    assert text in said
    assert TOKEN not in said


def test_a_token_line_that_is_none() -> None:
    for line in (b"", b"\n", b"x" * 3000):
        status, said = refused("--token-file", "-", stdin=line)
        assert status == 2
        assert "standard input" in said


async def test_a_file_of_settings_and_one_of_tokens(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.touch(0o600)
    tokens.write_text(f"team-a {TOKEN}\nteam-b {OTHER_TOKEN}\n")
    config = tmp_path / "serve.toml"
    config.write_text("port = 0\nmin_workers = 1\n[limits]\nmemory_mb = 64\n")
    async with serving("--config", str(config), "--token-file", str(tokens)) as daemon:
        assert daemon.announced["tokens"] == ["team-a", "team-b"]
        assert daemon.announced["limits"]["memory_mb"] == 64
        async with await Client.open(daemon.url, token=OTHER_TOKEN) as client:
            assert (await client.execute("async () => 1")).value == 1


# --- memory -----------------------------------------------------------------------------------------------------------


def resident(pid: int) -> int:
    """Memory of a process, in bytes."""
    with open(f"/proc/{pid}/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def test_answers_that_a_busy_program_does_not_take_fill_no_memory() -> None:
    """400 MB of them: a bound of the program ends it, or it takes them all; the daemon holds little meanwhile."""
    code = """async () => {
      const all = Array.from({ length: 80 }, () => t.x())
      await new Promise((resolve) => setTimeout(resolve, 50))
      const until = Date.now() + 2000
      while (Date.now() < until);
      for (const answer of all) await answer
    }"""
    async with serving("--port", "0") as daemon, await Client.open(daemon.url) as client:
        before = resident(daemon.process.pid)
        highest = before
        await client.start(code, providers=PROVIDERS)
        calls = [await client.until("call") for _ in range(80)]
        value = json.dumps("x" * 5_000_000)

        async def answer() -> None:
            for call in calls:
                await client.send({"t": "answer", "run": 1, "call": call["call"]}, value)

        answering = asyncio.create_task(answer())
        ending = asyncio.create_task(client.finish())
        while not ending.done():
            highest = max(highest, resident(daemon.process.pid))
            await asyncio.sleep(0.01)
        await answering
        assert ending.result().end.t in ("result", "error")
        assert highest - before < 170_000_000
