"""What proves who we are leaves the process on the wire and nowhere else."""

import subprocess
import sys

import pytest
from archive_worlds import FILES, ME, packed

MANIFEST = """
data:
  password: pass-w0rd # @secret
  token: t0k3n-value # @secret
resources:
  - archive:
      - {path}/app.tar.gz:
          ensure: present
          url: {url}?sig=s1gn4ture
          username: ann
          password: "{{{{ lookup('data.password') }}}}"
          headers:
            X-Token: "{{{{ lookup('data.token') }}}}"
            X-Api-Key: pl41n-k3y
          owner: "{owner}"
          group: "{group}"
"""
SECRETS = (b"pass-w0rd", b"t0k3n-value", b"pl41n-k3y", b"YW5uOnBhc3MtdzByZA")


def reactor(*arguments):
    done = subprocess.run([sys.executable, "-m", "reactor", *arguments], capture_output=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("accepted", [True, False])
def test_no_secret_is_said_or_written_down(server, tmp_path, state_directory, accepted):
    server.serve(packed(FILES, "tar.gz"))
    server.authorization = "Basic YW5uOnBhc3MtdzByZA==" if accepted else "Basic other"
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(MANIFEST.format(path=tmp_path, url=server.url("private"), **ME))
    said = b""
    for arguments in (["--diff"], ["--format", "json"], ["--noop", "--diff"]):
        status, output = reactor("run", "--converge-once", *arguments, str(manifest))
        assert status == (0 if accepted or "--noop" in arguments else 1), output
        said += output
    for command in ("render", "graph", "validate"):
        said += reactor(command, str(manifest))[1]
    assert accepted or b"status 401" in said
    [_, fields], *_ = server.asked
    assert (fields["X-Token"], fields["X-Api-Key"]) == ("t0k3n-value", "pl41n-k3y")
    kept = b"".join(path.read_bytes() for path in state_directory.rglob("*") if path.is_file())
    assert kept
    for secret in SECRETS:
        assert secret not in said
        assert secret not in kept
