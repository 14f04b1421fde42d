"""The examples of every command's help, and a host on which they can be followed to the letter."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import shlex
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from select import select
from socketserver import ThreadingUnixStreamServer
from tempfile import TemporaryFile
from unittest.mock import patch

import click
import pytest
import trio
import trustme
from deb_packages import Deb, write_repository
from nats_servers import NatsServer
from processes_of_cli import environment
from unit_worlds import ETC, systemctl

from reactor.cli.group import reactor as reactor_group
from reactor.fleet.bucket_names import HOSTS
from reactor.fleet.enrolment.card import Card, sign_card
from reactor.fleet.host.keys import age_recipient
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.operator.channels import Channels
from reactor.fleet.operator.server_config import load_operator_directory
from reactor.fleet.operator.session import operator_session
from reactor.fleet.rollout.state import Phase
from reactor.fleet.wire.nkeys import Key
from reactor.roles.skeleton import files_of_role

TIMEOUT = 120.0
SHELL = set("|<>$*\n")
EXAMPLES = ("Example", "Examples")

MANIFEST = """\
data: { web: { port: 80 }, motd: Hello, users: { ada: {}, grace: {} } }
hierarchy: { order: ["role:{{ Facts.role ?? 'none' }}"] }
overrides: { "role:db": { web: { port: 5432 } } }
notify: { page: { command: [/bin/true] }, ops: { command: [/bin/true] } }
resources:
  - file:
      - defaults: { owner: root, group: root, mode: "0644" }
      - /etc/motd: { ensure: present, content: "{{ Data.motd }}" }
      - /etc/nginx: { ensure: directory }
      - /etc/nginx/nginx.conf: { ensure: present, content: "listen {{ Data.web.port }};" }
  - exec: { name: restart app, command: test ! -e /run/trouble, refreshonly: true, subscribe: ["file#/etc/nginx/nginx.conf"] }
"""
REQUEST = {
    "protocol": "io.choria.ccm.v1.resource.ensure.request",
    "type": "file",
    "properties": {"name": "/tmp/asked-for", "ensure": "present", "content": "x", "owner": "root", "group": "root", "mode": "0644"},
}  # fmt: skip
PHASES = {
    **dict.fromkeys(("advance", "approve", "pause", "halt", "rollback"), Phase.ROLLING),
    "resume": Phase.PAUSED,
    **dict.fromkeys(("drive", "release"), Phase.DONE),
}
"""Command of ``reactor fleet`` -> the phase that the rollout must be in."""
TROUBLE = Path("/run/trouble")
UNIT = "[Service]\nExecStart=sleep 1000\n[Install]\nWantedBy=multi-user.target\n"


async def _remove_streams() -> None:
    """Let the servers be as new ones."""
    async with operator_session("/etc/reactor/fleet") as js:
        for name in (await js.call("STREAM.NAMES", {}))["streams"]:
            await js.delete_stream(name)


def commands(command: click.Command, *names: str) -> Iterator[tuple[str, click.Command]]:
    """``command`` and all below it, with what is typed to call them."""
    yield " ".join(names), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (below := command.get_command(context, name)) is not None:
                yield from commands(below, *names, name)


def examples_in(text: str) -> Iterator[str]:
    """Each line under "Examples:" is one; what stands under another title belongs together."""
    for block in inspect.cleandoc(text).split("\b\n")[1:]:
        title, _, rest = block.partition("\n\n")[0].partition(":\n")
        lines = inspect.cleandoc(rest).splitlines()
        yield from (lines if title in EXAMPLES else ["\n".join(lines)] * bool(lines))


def examples_of(*names: str) -> Iterator[tuple[str, list[str]]]:
    """Of a command and all below it: what is typed to call it, and the examples that its help shows."""
    command: click.Command = reactor_group
    for name in names:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), name)
    for path, each in commands(command, "reactor", *names):
        yield path, list(examples_in(each.help or ""))


def write_signed_repository(directory: Path, home: Path, key: Path) -> None:
    """A repository for apt with one suite and one component; who may trust it needs ``key``."""
    architecture = output("dpkg", "--print-architecture").strip()
    suite = directory / "dists/bookworm"
    index = suite / f"main/binary-{architecture}/Packages"
    index.parent.mkdir(parents=True)
    index.write_text("")
    digest = hashlib.sha256(b"").hexdigest()
    release = (
        f"Suite: bookworm\nCodename: bookworm\nArchitectures: {architecture}\nComponents: main\n"
        f"Date: Sat, 01 Jan 2022 00:00:00 UTC\nSHA256:\n {digest} 0 {index.relative_to(suite)}\n"
    )
    home.mkdir(mode=0o700)
    gpg = ("gpg", f"--homedir={home}", "--batch", "--quiet", "--pinentry-mode=loopback", "--passphrase=")
    output(*gpg, "--quick-generate-key", "Nobody <nobody@example.com>", "ed25519", "sign")
    key.write_text(output(*gpg, "--armor", "--export"))
    output(*gpg, "--clearsign", "--output", str(suite / "InRelease"), input=release)
    output("gpgconf", "--homedir", str(home), "--kill", "all")


def output(*command: str, **options: str) -> str:
    """What a command says that must succeed."""
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def stays(example: str) -> bool:
    """Whether it goes on until it is told to end."""
    if example.startswith(("reactor registration watch", "reactor agent ", "reactor fleet serve")):
        return True
    return "--follow" in example or (example.startswith("reactor run ") and "--converge-once" not in example)


class Host:
    """What the examples speak of is there; ``directory`` is where they are typed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.state = directory / "state"
        self._environment = environment()
        self._provide_program()
        self._provide_files()
        self._provide_network()
        self._provide_units()
        self._provide_hosts()

    @contextmanager
    def alive(self) -> Iterator[Host]:
        """While a converger runs that has repaired something, and the servers of example.com answer."""
        Path("/etc/ssh").mkdir(exist_ok=True)
        for content in ("former", "present"):
            self.do(f"reactor ensure file /etc/ssh/sshd_config --content {content}")
        for content in ("former", "present"):
            (self.directory / "site/motd").write_text(content)
            self.do("reactor push site/ -i hosts.yaml")
        converger = f"reactor run --state-dir {self.state} --ui 127.0.0.1:0 site.yaml"
        with self._serving(), self._registry(), self._fleet(), self._started(converger) as run:
            for line in run.stdout:
                if "converged" in line:
                    break
            yield self
            run.send_signal(signal.SIGTERM)

    def do(self, example: str) -> tuple[int, str]:
        """Follow one example to its end; returns as `follow` does. What needs no shell needs no process either."""
        if not SHELL & set(example):
            return self._called(shlex.split(example)[1:], self._variables(example))
        ended = subprocess.run(
            ["bash", "-e", "-c", example], cwd=self.directory, env=self._variables(example), text=True, timeout=TIMEOUT,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        return ended.returncode, ended.stdout

    def _called(self, words: list[str], variables: dict[str, str]) -> tuple[int, str]:
        with TemporaryFile("w+") as said, redirect_stdout(said), redirect_stderr(said), chdir(self.directory):
            with patch.dict(os.environ, variables), pytest.raises(SystemExit) as ended:
                reactor_group(words, prog_name="reactor")
            said.seek(0)
            return ended.value.code or 0, said.read()

    def follow(self, example: str) -> tuple[int, str]:
        """Follow one that stays, until it has said something; then end it. Returns how it ended, and what it said."""
        with self._started(example) as process:
            while "--failed" in example and not select([process.stdout], [], [], 1)[0]:
                TROUBLE.touch()
                Path("/etc/nginx/nginx.conf").write_text("drift")
            TROUBLE.unlink(missing_ok=True)
            said = ""
            while not re.search("converged|failed|Removed entry|page is at", said) and (
                line := process.stdout.readline()
            ):
                said += line
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=TIMEOUT)
            return process.returncode, said + rest

    def newest_version(self, path: str) -> str:
        """By which name `reactor restore` knows what a file held before."""
        return re.search(r"\b[0-9a-f]{8}\b", self.do(f"reactor restore --list {path}")[1])[0]

    def _variables(self, example: str) -> dict[str, str]:
        """The state directory of the converger, except for another one, and a session of which something can be told."""
        self._prepare_rollout(example)
        session = self.directory / "session"
        shutil.rmtree(session, ignore_errors=True)
        session.mkdir()
        state = (
            self.state if not re.search("reactor (run|agent) ", example) else self.directory / "another-state"
        )
        return {**self._environment, "REACTOR_STATE_DIR": str(state), "REACTOR_SESSION": str(session)}

    def _provide_program(self) -> None:
        program = Path("/usr/local/bin/reactor")
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m reactor "$@"\n')
        program.chmod(0o755)
        editor = Path("/usr/bin/vim.tiny")
        editor.touch(0o755)
        output("update-alternatives", "--install", "/usr/bin/editor", "editor", str(editor), "1")
        for directory in (
            "/etc/bash_completion.d",
            "/usr/local/share/zsh/site-functions",
            "/etc/fish/completions",
            "~/.config/fish",
        ):
            Path(directory).expanduser().mkdir(parents=True, exist_ok=True)

    def _provide_files(self) -> None:
        """The manifests and what else is named, and where there must be nothing yet."""
        for directory in ("/etc/reactor", "/etc/reactor.d", "/etc/modprobe.d"):
            Path(directory).mkdir(exist_ok=True)
        (self.directory / "manifests").mkdir()
        for path in (
            "site.yaml",
            "web.yaml",
            "manifests/db.yaml",
            "/etc/reactor/site.yaml",
            "/etc/reactor.d/site.yaml",
        ):
            # An applied manifest, as in `reactor ensure apply web.yaml`, declares no channels.
            text = re.sub(r"(?m)^notify: .*\n", "", MANIFEST) if path == "web.yaml" else MANIFEST
            (self.directory / path).write_text(text)
        (self.directory / "tests").mkdir()
        (self.directory / "tests/web.yaml").write_text(
            "manifest: ../site.yaml\ntests: {web: {resources: {file#/etc/motd: {content: Hello}}}}\n"
        )
        for name, text in files_of_role("base", "root", "root").items():
            (self.directory / "roles/base" / name).parent.mkdir(parents=True, exist_ok=True)
            (self.directory / "roles/base" / name).write_text(text)
        (self.directory / "request.json").write_text(json.dumps(REQUEST))
        (self.directory / "templates").mkdir()
        (self.directory / "templates/app.conf").write_text("host = {{ facts.host.info.hostname }}\n")
        shutil.rmtree("/etc/nginx", ignore_errors=True)
        for path in ("/tmp/motd", "/tmp/ready", "/tmp/app.conf"):
            Path(path).unlink(missing_ok=True)
        for path in ("/tmp/reactor-quickstart", "/tmp/roles"):
            shutil.rmtree(path, ignore_errors=True)

        self._provide_repository(Path("/srv/git/app.git"))

    def _provide_repository(self, path: Path) -> None:
        """A git repository with one commit."""
        shutil.rmtree(path, ignore_errors=True)
        output("git", "init", "--quiet", "--initial-branch=main", str(path))
        git = ("git", "-C", str(path), "-c", "user.name=Nobody", "-c", "user.email=nobody@example.com")
        output(*git, "commit", "--quiet", "--allow-empty", "--message=one")

    def _provide_network(self) -> None:
        """An interface, and example.com with a certificate that everybody here trusts."""
        for command in (
            "link add eth0 type veth peer name far0",
            "link set far0 up",
            "link set eth0 up",
            "address add 192.0.2.10/24 dev eth0",
        ):
            subprocess.run(["ip", *command.split()], check=True)
        with Path("/etc/hosts").open("a") as hosts:
            hosts.write("127.0.0.1 example.com\n")
        authority = trustme.CA()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("example.com").configure_cert(self._context)
        trusted = Path("/etc/example.pem")  # apt reads it as a user who may not enter our directory
        authority.cert_pem.write_to_path(str(trusted))
        self._environment["SSL_CERT_FILE"] = str(trusted)
        Path("/etc/apt/apt.conf.d/99-trusted").write_text(f'Acquire::https::CaInfo "{trusted}";\n')
        self._provide_packages()

    def _provide_packages(self) -> None:
        """nginx, an archive, and a repository that a key signs."""
        served = self.directory / "served"
        write_repository(served / "packages", Deb("nginx"))
        write_signed_repository(
            served / "debian", self.directory / "gpg", Path("/usr/share/keyrings/app.asc")
        )
        (self.directory / "app").mkdir()
        (self.directory / "app/version").write_text("1.0\n")
        shutil.make_archive(str(served / "app"), "gztar", self.directory, "app")
        shutil.rmtree("/etc/apt/sources.list.d")
        Path("/etc/apt/sources.list.d").mkdir()
        Path("/etc/apt/sources.list").write_text(f"deb [trusted=yes] copy:{served / 'packages'} ./\n")

    def _provide_units(self) -> None:
        for name in ("nginx", "ssh"):
            (ETC / f"{name}.service").write_text(UNIT)
        systemctl("daemon-reload")

    def _provide_hosts(self) -> None:
        """Hosts that ssh reaches: an sshd for each, at an address of its own, with its own state directory."""
        for directory in ("/run/sshd", "~/.ssh"):
            Path(directory).expanduser().mkdir(mode=0o700, exist_ok=True)
        ssh = Path("~/.ssh").expanduser()
        key = self.directory / "ssh_key"
        output("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
        authorized = key.with_suffix(".pub")
        (ssh / "config").write_text(f"Host *\n  IdentityFile {key}\n  IdentitiesOnly yes\n")
        names, known = ("web1", "web2", "web3", "db1"), ""
        for number, name in enumerate(names):
            host_key = self.directory / f"key-{name}"
            output("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(host_key))
            known += f"{name} {host_key.with_suffix('.pub').read_text()}"
            with Path("/etc/hosts").open("a") as hosts:
                hosts.write(f"127.0.1.{number + 1} {name}\n")
            settings = (
                f"ListenAddress=127.0.1.{number + 1}", f"HostKey={host_key}", f"AuthorizedKeysFile={authorized}", "UsePAM=no",
                "StrictModes=no", "PidFile=none", f"SetEnv=REACTOR_STATE_DIR={self.directory}/state-{name}",
            )  # fmt: skip
            output("/usr/sbin/sshd", "-f", "/dev/null", *(word for each in settings for word in ("-o", each)))
        (ssh / "known_hosts").write_text(known)
        (self.directory / "site").mkdir()
        (self.directory / "site/manifest.yaml").write_text(
            "resources: [{file: [{/tmp/motd: {ensure: present, source: motd, owner: root, group: root, mode: '0644'}}]}]\n"
        )
        (self.directory / "hosts.yaml").write_text("web: {hosts: {'web[1:3]': }}\n")
        (self.directory / "hosts.ini").write_text("[web]\nweb[1:2]\ndb1\n")

    @contextmanager
    def _serving(self) -> Iterator[None]:
        served = self.directory / "served"
        with _Server(("127.0.0.1", 443), partial(_Quiet, directory=served)) as server:
            server.socket = self._context.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with _daemon_without_containers():
                yield
            server.shutdown()

    @contextmanager
    def _fleet(self) -> Iterator[None]:
        """A NATS server with the accounts of a fleet, and a channel web with a release that all hosts have."""
        for key in ("~/.ssh/id_ed25519", str(self.directory / "deploy_key")):
            path = Path(key).expanduser()
            path.parent.mkdir(mode=0o700, exist_ok=True)
            if not path.exists():
                output("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path))
        init = "reactor fleet init nats://127.0.0.1:4222"
        self.do(init)
        server = NatsServer(self.directory / "nats", Path("/etc/reactor/fleet/accounts.conf").read_text())
        server.port = 4222
        with server:
            for command in (init, "reactor fleet release site/ web --soak 0 --waves 100% --wait"):
                code, said = self.do(command)
                assert code == 0, said
            public = Path("~/.ssh/id_ed25519.pub").expanduser().read_text()
            Path("/etc/reactor/fleet-signers").write_text(f"ann {public}")
            settings = (
                "id: web7\nservers: ['nats://127.0.0.1:4222']\ncredentials: web7.creds\nchannels: [web]\n"
            )
            Path("/etc/reactor/fleet.yaml").write_text(settings)
            token = output("reactor", "fleet", "invite", "--channel", "web")
            (self.directory / "token").write_text(token)
            with self._started("reactor fleet admit"):
                yield

    @contextmanager
    def _registry(self) -> Iterator[None]:
        """A NATS server for registrations, in the context CCM."""
        with NatsServer(self.directory / "registry") as server:
            contexts = Path("~/.config/nats/context").expanduser()
            contexts.mkdir(parents=True, exist_ok=True)
            (contexts / "CCM.json").write_text(json.dumps({"url": server.url}))
            agent = Path("/etc/choria/ccm/config.yaml")
            agent.parent.mkdir(parents=True, exist_ok=True)
            agent.write_text(f"manifests: [{self.directory}/site.yaml]\ncache_dir: {self.directory}/cache\n")
            yield

    def _prepare_secret(self, example: str) -> None:
        """A host of the group web with an age key, the file that is named, and the secret that is removed."""
        for file in ("tls.key", "password.txt"):
            (self.directory / file).write_text("a value")
        self._put_host("db1", "db", "web")
        if " rm " in example:
            output(
                "reactor",
                "fleet",
                "secret",
                "set",
                "db",
                "--for",
                "db1",
                "--from",
                str(self.directory / "tls.key"),
            )

    def _put_host(self, name: str, channel: str, *groups: str) -> None:
        """Make a host that has joined."""
        signing = load_operator_directory("/etc/reactor/fleet").keys.cards
        recipient = age_recipient(str(self.directory / "age.key"))
        card = Card(name, Key.generate("user").public, recipient, (channel,), groups, time.time())
        spec = HostSpec(name, (channel,), groups, card=sign_card(card, signing))

        async def write() -> None:
            async with operator_session("/etc/reactor/fleet") as js:
                await js.key_value(HOSTS).put(name, spec.to_bytes())

        trio.run(write)

    def _prepare_rollout(self, example: str) -> None:
        """Bring the channel into the phase in which the example makes sense."""
        words = example.split()
        if "reactor fleet secret " in example:
            self._prepare_secret(example)
        if words[:3] == ["reactor", "fleet", "pin"]:
            self._put_host("web7", "web")  # an example before expelled it
        if words[:3] == ["reactor", "fleet", "join"]:
            Path("/etc/reactor/fleet.yaml").unlink()
        if words[:3] == ["reactor", "fleet", "backup"]:
            Path("/srv/backup").mkdir(exist_ok=True)
        if words[:3] == ["reactor", "fleet", "restore"]:
            trio.run(_remove_streams)
        if words[:2] != ["reactor", "fleet"] or (phase := PHASES.get(words[2])) is None:
            return

        async def write() -> None:
            async with operator_session("/etc/reactor/fleet") as js:
                channels = Channels(js)
                state, revision = await channels.read("web")
                if state is not None:
                    wave = 10_000 if phase is Phase.DONE else 100
                    previous = state.previous or state.release
                    approve = (10_000,) if words[2] == "approve" else ()
                    gate = replace(state.gate, approve=approve)
                    new = replace(
                        state, phase=phase, wave=wave, previous=previous, waves=(100, 10_000), gate=gate
                    )
                    await channels.write(new, revision)

        trio.run(write)

    @contextmanager
    def _started(self, example: str) -> Iterator[subprocess.Popen[str]]:
        with subprocess.Popen(
            ["bash", "-c", f"exec {example}"], cwd=self.directory, env=self._variables(example), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                process.kill()


class _Server(ThreadingHTTPServer):
    """Says goodbye, as TLS wants it: the apt of Debian 13 takes an end without that for an attack."""

    def shutdown_request(self, request: ssl.SSLSocket) -> None:
        with suppress(OSError):
            request.unwrap()
        super().shutdown_request(request)


@contextmanager
def _daemon_without_containers() -> Iterator[None]:
    """Answer as a docker that has no containers."""
    path = "/run/docker.sock"
    if os.path.exists(path):
        yield
        return
    with ThreadingUnixStreamServer(path, _NoContainers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()
    os.unlink(path)


class _NoContainers(BaseHTTPRequestHandler):
    """Has nothing, and says nothing of it."""

    def do_GET(self) -> None:
        """Not found."""
        self.send_error(404)

    def log_message(self, *_words: object) -> None:
        """Nothing."""


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing of it."""

    def log_message(self, *_words: object) -> None:
        """Nothing."""
