"""Wheel and sdist: built from a copy of the tree, installed where there is no Node, and run."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASSETS = "codemode_executor/worker/assets"
VERSION = runpy.run_path(str(ROOT / "executor/codemode_executor/_version.py"))["__version__"]
BUNDLES = ("harness.js", "reader.js")
# What a build reads. Anything else in the tree must not be needed.
BUILD_INPUTS = (
    *("compat", "executor", "hatch_build.py", "pyproject.toml"),
    *("CONTRIBUTING.md", "LICENSE", "README.md", ".gitignore"),
)

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(300)]


def run(
    *command: str | Path, cwd: Path, stdin: str = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def build(tree: Path, kind: str, into: Path) -> subprocess.CompletedProcess[str]:
    # The backend of the development environment: nothing is downloaded for a build.
    return run(
        *(sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", into, tree),
        cwd=tree,
    )


def copy_of_tree(to: Path) -> Path:
    to.mkdir(parents=True)
    for name in BUILD_INPUTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, to / name, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
        else:
            shutil.copy2(source, to / name)
    return to


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return copy_of_tree(tmp_path / "tree")


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sdist of the tree and the wheel of the tree, by kind."""
    base = tmp_path_factory.mktemp("distributions")
    tree = copy_of_tree(base / "tree")
    built: dict[str, Path] = {}
    for kind in ("sdist", "wheel"):
        outcome = build(tree, kind, base / kind)
        assert outcome.returncode == 0, outcome.stdout + outcome.stderr
        (built[kind],) = (base / kind).iterdir()
    return built


def test_the_wheel_holds_both_packages_their_types_and_the_bundles(
    distributions: dict[str, Path],
) -> None:
    with zipfile.ZipFile(distributions["wheel"]) as wheel:
        names = set(wheel.namelist())
        bundles = {name: wheel.read(f"{ASSETS}/{name}") for name in BUNDLES}
    assert {"codemode_executor/py.typed", "codemode_compat/py.typed"} <= names
    assert {"codemode_executor/__init__.py", "codemode_compat/__init__.py"} <= names
    for name, content in bundles.items():
        assert content == (ROOT / "executor" / ASSETS / name).read_bytes()
    tops = {name.split("/", 1)[0] for name in names}
    assert tops == {
        *("codemode_executor", "codemode_compat"),
        f"codemode_executor-{VERSION}.dist-info",
    }


def test_the_sdist_holds_the_bundles_and_what_they_are_built_from(
    distributions: dict[str, Path],
) -> None:
    with tarfile.open(distributions["sdist"]) as sdist:
        names = {name.split("/", 1)[1] for name in sdist.getnames()}
    assert {f"executor/{ASSETS}/{name}" for name in BUNDLES} <= names
    assert {"executor/guest/build.mjs", "executor/guest/package-lock.json", "LICENSE"} <= names
    assert not [name for name in names if "node_modules" in name or "__pycache__" in name]


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_installed_alone_it_runs_a_program_without_node(
    distributions: dict[str, Path], kind: str, tmp_path: Path
) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True, symlinks=True)
    python = environment / "bin/python"
    install = run(python, "-m", "pip", "install", "--quiet", distributions[kind], cwd=tmp_path)
    assert install.returncode == 0, install.stdout + install.stderr

    bare = {"PATH": str(environment / "bin"), "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    assert shutil.which("node", path=bare["PATH"]) is None
    command = environment / "bin/codemode-executor"
    outcome = run(command, "run", "-", cwd=tmp_path, stdin="async () => 40 + 2", env=bare)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert json.loads(outcome.stdout)["result"] == 42

    version = run(command, "--version", cwd=tmp_path, env=bare)
    assert VERSION in version.stdout
    location = run(*(python, "-c", "import codemode_executor as e; print(e.__file__)"), cwd=tmp_path, env=bare)
    assert Path(location.stdout.strip()).is_relative_to(environment)


@pytest.mark.parametrize("bundle", BUNDLES)
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_the_build_fails_without_a_bundle(tree: Path, kind: str, bundle: str) -> None:
    (tree / "executor" / ASSETS / bundle).unlink()
    outcome = build(tree, kind, tree / "out")
    assert outcome.returncode != 0
    assert f"guest bundle executor/{ASSETS}/{bundle} is missing" in outcome.stdout + outcome.stderr
    assert "make bundles" in outcome.stdout + outcome.stderr
    assert not list((tree / "out").glob("*"))


@pytest.mark.parametrize(
    "change",
    ["executor/guest/src/reader/index.js", "executor/guest/src/new.js", "executor/guest/build.mjs"],
)
def test_the_build_fails_with_a_bundle_of_other_sources(tree: Path, change: str) -> None:
    with (tree / change).open("a") as file:
        file.write("\n// changed\n")
    outcome = build(tree, "wheel", tree / "out")
    assert outcome.returncode != 0
    assert "is stale, executor/guest has changed" in outcome.stdout + outcome.stderr


def test_the_build_fails_with_a_bundle_of_unknown_origin(tree: Path) -> None:
    (tree / "executor" / ASSETS / "reader.js").write_text("(() => 1)()\n")
    outcome = build(tree, "wheel", tree / "out")
    assert outcome.returncode != 0
    assert "reader.js was not built by build.mjs" in outcome.stdout + outcome.stderr


def test_an_older_bundle_of_the_same_sources_is_current(tree: Path) -> None:
    # A checkout or a copy may give the sources any time of change: their content decides.
    for bundle in BUNDLES:
        os.utime(tree / "executor" / ASSETS / bundle, (0, 0))
    outcome = build(tree, "wheel", tree / "out")
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_lock_files_name_no_registry() -> None:
    lock = json.loads((ROOT / "executor/guest/package-lock.json").read_text("utf-8"))
    for name, package in lock["packages"].items():
        assert "resolved" not in package, name
        assert name == "" or package["integrity"].startswith("sha512-"), name
