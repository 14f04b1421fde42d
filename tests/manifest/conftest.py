import pytest
from small_kinds import KINDS

from reactor.manifest import read_manifests
from reactor.manifest.source import Problems, Source
from reactor.manifest.yaml_tree import parse


class Reading:
    """What reading a text gave, in the words of these tests."""

    def __init__(self, manifest, diagnostics):
        self.manifest = manifest
        self.diagnostics = diagnostics

    @property
    def resource(self):
        assert self.diagnostics == []
        assert len(self.manifest.resources) == 1
        return self.manifest.resources[0]

    @property
    def messages(self):
        return [found.message for found in self.diagnostics]

    @property
    def positions(self):
        return [(found.place.line, found.place.column) for found in self.diagnostics]


@pytest.fixture
def read(tmp_path):
    """Read a manifest given as text (or bytes), with the small kinds."""

    def read(text):
        path = tmp_path / "site.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return Reading(*read_manifests([str(path)], KINDS))

    return read


@pytest.fixture
def tree():
    """Parse a text that must be free of problems."""

    def tree(text):
        problems = Problems(Source("site.yaml", text))
        value = parse(problems)
        assert problems.sorted() == []
        return value

    return tree
