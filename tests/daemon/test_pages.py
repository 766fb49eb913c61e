"""What the pages say is what the code does: every message with every member, every setting, every code."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from codemode_executor import ExecutorError, errors
from codemode_executor.daemon import errors as daemon_errors
from codemode_executor.daemon import protocol
from codemode_executor.daemon.settings import Settings, load, option_names
from codemode_executor.wire import bridge as wire

DOCS = Path(__file__).parents[2] / "docs"
PROTOCOL = (DOCS / "protocol.md").read_text()
DAEMON = (DOCS / "daemon.md").read_text()


def row(page: str, name: str) -> str:
    """The row of a table whose first cell names something."""
    found = [line for line in page.splitlines() if re.match(rf"\| `{name}`( ¶)? \|", line)]
    assert found, f"{name} has no row"
    return found[0]  # `run` is a message first, and a member of it


@pytest.mark.parametrize("kind", [*wire.ToDaemon.__args__, *wire.ToClient.__args__])
def test_every_message_is_written_down(kind: type[msgspec.Struct]) -> None:
    tag = str(kind.__struct_config__.tag)
    text = row(PROTOCOL, tag)
    assert ("¶" in text.split("|")[1]) is (kind in wire.WithPayload.__args__)
    for field in msgspec.structs.fields(kind):
        if kind is wire.Run:
            assert row(PROTOCOL, field.name)
        else:
            assert f"`{field.encode_name}`" in text


def test_every_code_is_written_down() -> None:
    codes = {"CANCELLED", "INTERNAL"}
    for module in (errors, daemon_errors):
        codes |= {
            kind.code
            for kind in vars(module).values()
            if isinstance(kind, type) and issubclass(kind, ExecutorError) and kind is not ExecutorError
        }
    for code in codes:
        assert f"`{code}`" in PROTOCOL, code
    for code in (protocol.CLOSE_GOING_AWAY, protocol.CLOSE_INTERNAL, protocol.CLOSE_VIOLATION):
        assert f"| {code} |" in PROTOCOL


def test_every_setting_is_written_down_with_its_default() -> None:
    table = DAEMON.split("<!-- settings -->")[1].split("<!-- /settings -->")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\S.*?) \| \S.* \|$", table, re.MULTILINE)
    assert [name for name, _ in rows] == option_names()
    defaults = Settings()
    for name, shown in rows:
        value: object = getattr(defaults, name)
        plain = shown.strip("`'")
        match value:
            case None:
                assert plain == "none"
            case bool() | str() | list():
                assert plain == str(value)
            case int() | float():
                number, _, unit = plain.partition(" ")
                assert float(number) * (1024 * 1024 if unit == "MiB" else 1) == value
            case _:
                raise AssertionError(f"{name} has a default of an unknown kind: {value!r}")


def test_the_example_of_a_file_is_one(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", DAEMON, re.DOTALL)
    file = tmp_path / "serve.toml"
    file.write_text(example)
    settings = load({}, {}, {}, str(file))
    assert (settings.port, settings.limits.memory_mb) == (8443, 256)


def test_the_example_of_a_frame_is_one() -> None:
    (example,) = re.findall(r"```text\n(\{.*?)\n```", PROTOCOL, re.DOTALL)
    header, payload = example.split("\n")
    call = msgspec.json.decode(header, type=wire.Call)
    assert wire.encode_message(call, payload.encode()).decode() == example
