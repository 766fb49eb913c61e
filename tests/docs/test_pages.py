"""Every block of code on every page is run, or read, or says which test runs it; every table is what the code says."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from codemode_executor import IsolateExecutor
from codemode_executor.daemon.settings import load
from docs import blocks, runners
from docs.blocks import INCLUDED, KINDS, ROOT, Block, of_kind

_RUN = of_kind("script", "shell", "host")
_GUARD = pytest.mark.timeout(300)


@pytest.fixture(scope="module", autouse=True)
def _begin(request: pytest.FixtureRequest) -> None:
    """The blocks of the tests that were selected run two at a time."""
    wanted: list[Block] = []
    for item in request.session.items:
        parameters = getattr(item, "callspec", None)
        block = parameters.params.get("block") if parameters else None
        if isinstance(block, Block):
            wanted.append(block)
    runners.begin(wanted)


def test_there_are_blocks() -> None:
    assert len(_RUN) >= 20
    assert len(of_kind("diagram")) >= 4


@pytest.mark.parametrize("block", blocks.ALL, ids=str)
def test_block_says_what_it_is(block: Block) -> None:
    if block.kind == "included":
        return
    if block.kind == "tested":
        assert (ROOT / block.argument).exists(), f"{block.argument} does not exist"
        return
    assert block.kind in KINDS.get(block.language, set()), (
        f"{block} is a block of {block.language or 'no language'}"
        f" marked {block.kind or 'nothing'}: see tests/docs/blocks.py"
    )


@_GUARD
@pytest.mark.parametrize("block", _RUN, ids=str)
def test_block_runs_and_prints_what_it_says(block: Block) -> None:
    done = runners.outcome(block)
    assert done.code == 0, done.stdout[-4000:] + done.stderr[-4000:]
    if block.kind == "script":
        assert done.stderr == ""
    for expected in runners.promised(block):
        assert expected in done.stdout


@pytest.mark.parametrize("block", of_kind("program", "failing"), ids=str)
async def test_program_does_what_it_says(block: Block) -> None:
    async with IsolateExecutor(min_workers=1, max_workers=1) as executor:
        outcome = await executor.execute(block.text)
    promised = runners.promised_end(block)
    if block.kind == "failing":
        assert outcome.error is not None
        assert promised is None or outcome.error == promised
    else:
        assert outcome.error is None, outcome.error
        assert promised is None or outcome.result == json.loads(promised)


@pytest.mark.parametrize("block", of_kind("output"), ids=str)
def test_output_is_what_is_printed(block: Block) -> None:
    assert block.before is not None
    if block.before.kind == "included":
        path = block.before.included[0][0]
        printed = runners.EXAMPLES[path]().stdout
    else:
        done = runners.outcome(block.before)
        printed = done.stdout + done.stderr
    rest = iter(printed.splitlines())
    for line in block.text.splitlines():
        assert line in rest, f"{line!r} is not printed (in this order) in:\n{printed}"


@pytest.mark.parametrize("block", of_kind("included"), ids=str)
def test_included_file_is_tested(block: Block) -> None:
    for path, section in block.included:
        tests = [tests for folder, tests in INCLUDED.items() if path.startswith(folder)]
        assert tests, f"nothing is known to test {path}: see INCLUDED in tests/docs/blocks.py"
        assert (ROOT / tests[0]).exists()
        text = (ROOT / path).read_text()
        if section:
            assert f"[start:{section}]" in text
            assert f"[end:{section}]" in text


@_GUARD
@pytest.mark.parametrize("block", of_kind("service"), ids=str)
async def test_service_listens_and_ends_in_order(block: Block, tmp_path: Path) -> None:
    commands = re.sub(r"^(?=codemode-executor serve)", "exec ", block.text, flags=re.MULTILINE)
    process = await asyncio.create_subprocess_exec(
        *("bash", "-euo", "pipefail", "-c", commands),
        cwd=tmp_path,
        env={**runners.environment(), "CODEMODE_SERVE_PORT": "0"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(60):
        line = await process.stdout.readline()
        if line:
            process.terminate()
        _, log = await process.communicate()
    assert line, log.decode()
    assert json.loads(line)["event"] == "listening"
    assert process.returncode == 0


@pytest.mark.parametrize("block", of_kind("make"), ids=str)
def test_targets_exist(block: Block) -> None:
    targets = re.findall(r"^make ((?:[\w-]+ ?)+)", block.text, re.MULTILINE)
    assert targets
    rules = set(re.findall(r"^([\w-]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for target in " ".join(targets).split():
        assert target in rules, f"the Makefile has no {target}"


@pytest.mark.parametrize("block", of_kind("install"), ids=str)
def test_what_is_installed_is_known(block: Block) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    known = {re.split(r"[=<>\[]", requirement)[0] for extra in extras.values() for requirement in extra}
    known |= {project["name"], *(f"{project['name']}[{extra}]" for extra in extras)}
    for package in (runners.BRIDGE, runners.NODE_EXAMPLES):
        described = json.loads((package / "package.json").read_text())
        known |= {described["name"], *described["dependencies"]}
    commands = re.findall(r"^(?:pip|npm|apt-get) install (.+)$", block.text, re.MULTILINE)
    assert commands
    for name in " ".join(commands).replace('"', "").split():
        assert name in known, f"{name} is neither this project nor pinned by it"


@pytest.mark.parametrize("block", of_kind("settings"), ids=str)
def test_settings_are_taken(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(block.text)
    settings = msgspec.to_builtins(load({}, {}, {}, str(file)))
    for name, value in tomllib.loads(block.text).items():
        if name == "limits":
            assert value.items() <= settings["limits"].items()
        else:
            assert settings[name] == value


@pytest.mark.parametrize("block", of_kind("data"), ids=str)
def test_data_is_json(block: Block) -> None:
    json.loads(block.text.replace("…", "0"))


def test_diagrams_can_be_drawn() -> None:
    diagrams = of_kind("diagram")
    done = runners.run(
        "node", str(runners.HERE / "diagrams.cjs"), cwd=ROOT, stdin=json.dumps([block.text for block in diagrams])
    )
    assert done.code == 0, done.stderr
    wrong = {str(block): error for block, error in zip(diagrams, json.loads(done.stdout), strict=True) if error}
    assert not wrong


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "migration/README.md"])
def test_links_outside_of_the_site_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", (ROOT / page).read_text()):
        if "://" not in target:
            assert (ROOT / page).parent.joinpath(target).exists(), f"{page} links to {target}, which does not exist"


def test_files_that_the_internals_name_exist() -> None:
    folders = ("executor", "compat", "node_bridge/src", "scripts", "tests")
    listed = subprocess.run(
        ["find", *folders, "-name", "node_modules", "-prune", "-o", "-type", "f", "-print"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    files = {f"/{path}" for path in listed}
    for page in sorted((ROOT / "docs" / "internals").glob("*.md")):
        for name in re.findall(r"`([\w/.-]+\.(?:py|js|mjs|ts|jsonl))`", page.read_text()):
            assert any(path.endswith(f"/{name}") for path in files), f"{page.name} names {name}, which does not exist"


def test_tables_are_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "tables.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
