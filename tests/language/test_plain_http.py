"""Downloads over plain http without a checksum: what an attacker on the network could replace is told when loading."""

from __future__ import annotations

import pytest

from reactor.loading import load
from reactor.manifest.inputs import Inputs

SUM = "0" * 64


def warnings_of(tmp_path, kind, properties):
    path = tmp_path / "site.yaml"
    path.write_text(
        f"resources:\n  - {kind}: [{{{tmp_path}/a.tar.gz: {{{properties}}}}}]\n  - exec: [make: {{command: /bin/true}}]\n"
    )
    return list(load(str(path), Inputs({}, {}, {})).warnings)


KINDS = {
    "archive": "ensure: present, owner: root, group: root, url",
    "file": "ensure: present, owner: root, group: root, mode: '0644', source",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "host", ["example.com", "127.0.0.1.example.com", "10.0.0.1", "[2001:db8::1]:8080", "u:secret@example.com"]
)
def test_a_download_without_tls_and_checksum_is_warned_of(tmp_path, kind, host):
    [warning] = warnings_of(tmp_path, kind, f"{KINDS[kind]}: 'http://{host}/a.tar.gz'")
    assert f"{tmp_path}/site.yaml:2:" in warning
    assert "an attacker on the network decides what is downloaded (write the checksum, or https)" in warning
    assert "secret" not in warning


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "rest",
    [
        "'https://example.com/a.tar.gz'",
        f"'http://example.com/a.tar.gz', checksum: {SUM}",
        "'http://example.com/a.tar.gz', checksum: \"${ output('exec#make').stdout }\"",
        "'http://127.0.0.1:80/a.tar.gz'",
        "'http://localhost/a.tar.gz'",
        "'http://[::1]/a.tar.gz'",
    ],
)
def test_what_nobody_can_replace_is_not(tmp_path, kind, rest):
    assert warnings_of(tmp_path, kind, f"{KINDS[kind]}: {rest}") == []


def test_nothing_is_downloaded_for_what_is_to_be_absent(tmp_path):
    rest = "ensure: absent, owner: root, group: root, url: 'http://example.com/a.tar.gz'"
    assert warnings_of(tmp_path, "archive", rest) == []
