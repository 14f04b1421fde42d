import os

import pytest

from reactor.loading import load
from reactor.manifest.inputs import Inputs


@pytest.fixture
def site(tmp_path):
    """Write a manifest and load it; ``{dir}`` is a directory of the test, ``{own}`` what every file needs."""

    def site(text, *, facts=None, data=None, environ=None, name="site.yaml", **files):
        for file, content in {name: text, **files}.items():
            path = tmp_path / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(filled(content))
        return load(str(tmp_path / name), Inputs(facts or {}, environ or {}, data or {}))

    def filled(text):
        own = f'owner: "{os.getuid()}", group: "{os.getgid()}", mode: "0644", ensure: present'
        return text.replace("{dir}", str(tmp_path)).replace("{own}", own)

    site.filled = filled
    return site
