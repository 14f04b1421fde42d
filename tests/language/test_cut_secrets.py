"""Long lines are shortened for messages: a secret on the border is masked as a whole, and no half of it is shown."""

import pytest

from reactor.manifest.phrasing import shortened
from reactor.resource.redaction import forget_all, masked_start, redact, register_secret
from reactor.resources.package.error_lines import error_lines_in
from reactor.resources.process import output_tail

SECRET = "Hohenzollern-4711-Sigmaringen"
HALF = SECRET[:6]


@pytest.fixture(autouse=True)
def known():
    register_secret(SECRET)
    yield
    forget_all()


@pytest.mark.parametrize(
    "shorten",
    [
        lambda line: output_tail("", line),
        lambda line: error_lines_in(f"E: {line}"),
        shortened,
        lambda line: masked_start(line, 100),
    ],
    ids=["output of a command", "output of a package manager", "value of a manifest", "first characters"],
)
def test_no_half_of_a_secret_is_left_where_a_line_is_cut(shorten):
    for before in range(300):
        text = redact(shorten(f"{'.' * before}{SECRET}{'.' * 300}"))
        assert HALF not in text
        assert len(text) < 300


def test_a_failed_command_shows_no_half_of_a_secret(reactor, manifest, tmp_path):
    (script := tmp_path / "script").write_text(
        '#!/bin/sh\nprintf "%190s%s%200s\\n" "" "$1" "" | tr " " . >&2; exit 3\n'
    )
    script.chmod(0o755)
    path = manifest(
        f"data: {{password: {SECRET}}}\n"
        f"resources: [exec: [{{it: {{command: \"{script} '{{{{ secret(Data.password) }}}}'\"}}}}]]"
    )
    done = reactor("run", "--converge-once", path)
    assert done.code == 1
    assert "exit code 3" in done.out
    assert HALF not in done.out + done.err
