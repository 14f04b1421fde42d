"""The licence: its text, and what tells tools of it."""

import shutil
import subprocess
import sys
from email import message_from_string

from pins import PROJECT, ROOT


def test_the_licence_is_apache_2_whole():
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_what_is_built_says_its_licence_and_has_its_text(tmp_path):
    copy, built = tmp_path / "copy", tmp_path / "built"
    copy.mkdir()
    built.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for folder in ("reactor", "resources", "watchers"):
        (copy / folder).mkdir()
    hook = f"from setuptools.build_meta import *; prepare_metadata_for_build_wheel({str(built)!r})"
    subprocess.run([sys.executable, "-c", hook], cwd=copy, check=True, capture_output=True)
    (information,) = built.glob("*.dist-info")
    metadata = message_from_string((information / "METADATA").read_text())
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert (information / "licenses/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_readme_names_the_licence():
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert "[Apache-2.0](LICENSE)" in (ROOT / "README.md").read_text()
