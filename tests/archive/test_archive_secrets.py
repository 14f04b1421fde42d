"""What proves who we are leaves the process on the wire and nowhere else."""

import subprocess
import sys

from archive_worlds import FILES, ME, packed

MANIFEST = """
data:
  password: pass-w0rd # @secret
  token: t0k3n-value # @secret
resources:
  - archive:
      - {path}/app.tar.gz:
          ensure: present
          url: {url}
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


def lay_out(server, tmp_path):
    server.serve(packed(FILES, "tar.gz"))
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(MANIFEST.format(path=tmp_path, url=server.url("private"), **ME))
    return str(manifest)


def is_clean(said, state_directory):
    kept = b"".join(path.read_bytes() for path in state_directory.rglob("*") if path.is_file())
    return kept and not any(secret in said + kept for secret in SECRETS)


def test_secrets_are_sent_and_shown_nowhere(server, tmp_path, state_directory):
    manifest = lay_out(server, tmp_path)
    server.authorization = "Basic YW5uOnBhc3MtdzByZA=="
    status, said = reactor("run", "--converge-once", "--diff", manifest)
    assert status == 0, said
    [(_, fields)] = server.asked
    assert (fields["X-Token"], fields["X-Api-Key"]) == ("t0k3n-value", "pl41n-k3y")
    rendered = reactor("render", manifest)[1]
    assert b"[secret]" in rendered
    assert is_clean(said + rendered + reactor("graph", manifest)[1], state_directory)


def test_secrets_that_are_refused_are_shown_nowhere(server, tmp_path, state_directory):
    manifest = lay_out(server, tmp_path)
    status, said = reactor("run", "--converge-once", "--format", "json", manifest)
    assert status == 1
    assert b"status 401" in said
    assert is_clean(said, state_directory)
