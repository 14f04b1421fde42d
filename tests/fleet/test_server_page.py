"""The page on the servers of a fleet: nats-server accepts the configuration that it shows."""

import re
import subprocess
from pathlib import Path

from nats_servers import BINARY

from reactor.fleet.operator.server_config import make_operator_directory

PAGE = Path(__file__).parents[2] / "docs/fleet-servers.md"


def test_nats_server_accepts_the_configuration_of_the_page(tmp_path):
    make_operator_directory(str(tmp_path))
    key, certificate = tmp_path / "server.key", tmp_path / "server.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-subj", "/CN=nats1", "-days", "1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    [server, gateway] = re.findall(r"```text\n([^$].*?)```", PAGE.read_text(), re.DOTALL)
    text = server + gateway
    changed = text.replace("/etc/nats/", f"{tmp_path}/").replace("/var/lib/nats", f"{tmp_path}/js")
    (tmp_path / "server.conf").write_text(changed)
    done = subprocess.run(
        [BINARY, "-t", "-c", tmp_path / "server.conf"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "is valid" in done.stderr + done.stdout
