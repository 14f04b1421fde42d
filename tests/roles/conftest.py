import os

import pytest

from reactor.loading import load
from reactor.manifest.inputs import Inputs
from reactor.resource.diagnostic import ManifestError

OWN = f'owner: "{os.getuid()}", group: "{os.getgid()}"'


class Tree:
    """A directory with manifests and roles."""

    def __init__(self, place):
        self.place = place

    def put(self, **files):
        """Write files; in a name, ``__`` is a slash. ``{dir}`` is the directory, ``{own}`` the owner of this test."""
        for name, text in files.items():
            path = self.place / f"{name.replace('__', '/')}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.filled(text))

    def filled(self, text):
        return text.replace("{dir}", str(self.place)).replace("{own}", OWN)

    @property
    def site(self):
        return str(self.place / "site.yaml")

    def load(self, **inputs):
        """Load site.yaml, with the cache beside it."""
        return load(self.site, Inputs(cache=str(self.place / "cache"), **inputs))

    def problems(self, **inputs):
        """The problems of site.yaml: code, line, column, message."""
        with pytest.raises(ManifestError) as caught:
            self.load(**inputs)
        return [
            (each.code, each.place.line, each.place.column, each.message) for each in caught.value.diagnostics
        ]


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)
