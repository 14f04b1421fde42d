"""A real Vault: a server with TLS of its own authority, and its data in a directory, so that it can be restarted."""

import json
import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import suppress

import trustme
from ports import free_ports

BINARY = shutil.which("vault")
_PATIENCE = 60


class RealVault:
    """One server below ``directory``.

    It is unsealed, with a KV engine of version 2 at ``secret/`` and of version 1 at ``old/``.
    """

    def __init__(self, directory):
        self._directory = directory
        self._port, cluster = free_ports(2)
        self.address = f"https://127.0.0.1:{self._port}"
        authority = trustme.CA()
        self.ca_file = directory / "ca.pem"
        authority.cert_pem.write_to_path(self.ca_file)
        certificate = authority.issue_cert("127.0.0.1")
        (directory / "data").mkdir()
        (directory / "chain.pem").write_bytes(b"".join(each.bytes() for each in certificate.cert_chain_pems))
        certificate.private_key_pem.write_to_path(directory / "key.pem")
        self._trust = ssl.create_default_context(cafile=self.ca_file)
        self._config = directory / "vault.hcl"
        self._config.write_text(f"""
            disable_mlock = true
            api_addr = "{self.address}"
            cluster_addr = "https://127.0.0.1:{cluster}"
            storage "raft" {{ path = "{directory}/data" }}
            listener "tcp" {{
              address = "127.0.0.1:{self._port}"
              cluster_address = "127.0.0.1:{cluster}"
              tls_cert_file = "{directory}/chain.pem"
              tls_key_file = "{directory}/key.pem"
            }}
        """)
        self.root = None
        self._process = None
        self._key = None

    def start(self):
        """Start it, and unseal it if it is not new."""
        log = (self._directory / "log").open("ab")
        command = [BINARY, "server", f"-config={self._config}"]
        self._process = subprocess.Popen(command, stdout=log, stderr=log, env={"HOME": str(self._directory)})
        log.close()
        end = time.monotonic() + _PATIENCE
        while True:
            with suppress(urllib.error.URLError):
                self.api("GET", "sys/seal-status")
                break
            assert time.monotonic() < end
            assert self._process.poll() is None, (self._directory / "log").read_text()
        if self._key is not None:
            self.unseal()

    def initialize(self):
        """Begin with one key and two engines."""
        made = self.api("POST", "sys/init", {"secret_shares": 1, "secret_threshold": 1})
        self._key, self.root = made["keys"][0], made["root_token"]
        self.unseal()
        for mount, version in (("secret", "2"), ("old", "1"), ("team/kv", "2")):
            self.api("POST", f"sys/mounts/{mount}", {"type": "kv", "options": {"version": version}})
        self.api("POST", "sys/auth/approle", {"type": "approle"})
        policy = 'path "secret/data/app/*" { capabilities = ["read"] }'
        self.api("POST", "sys/policies/acl/app", {"policy": policy})

    def unseal(self):
        """Unseal it, and wait until it answers."""
        self.api("POST", "sys/unseal", {"key": self._key})
        end = time.monotonic() + _PATIENCE
        while True:
            with suppress(urllib.error.HTTPError):
                self.api("GET", "sys/health")
                return
            assert time.monotonic() < end

    def stop(self):
        """Stop it."""
        self._process.terminate()
        self._process.wait(_PATIENCE)

    def api(self, method, path, body=None, token=None):
        """Ask it as an administrator. Return the answer."""
        headers = {"X-Vault-Token": token or self.root} if token or self.root else {}
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}/v1/{path}", content, headers, method=method)
        with urllib.request.urlopen(request, context=self._trust, timeout=_PATIENCE) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def write(self, path, **fields):
        """Write a secret of version 2 below ``secret/``, or of version 1 below ``old/``."""
        mount, _, rest = path.partition("/")
        self.api(
            "POST",
            path if mount == "old" else f"{mount}/data/{rest}",
            fields if mount == "old" else {"data": fields},
        )

    def role(self, name, **properties):
        """Make a role of AppRole that has the policy. Return its id and a secret id."""
        self.api("POST", f"auth/approle/role/{name}", {"token_policies": ["app"], **properties})
        role = self.api("GET", f"auth/approle/role/{name}/role-id")["data"]["role_id"]
        return role, self.api("POST", f"auth/approle/role/{name}/secret-id", {})["data"]["secret_id"]
