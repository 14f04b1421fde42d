"""Roles from git and from a URL: locked, checked, signed; what does not fit is refused, and what was there stays."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import os
import re
import signal
import subprocess
import tarfile
from functools import partial
from http.server import BaseHTTPRequestHandler

import pytest
from files_of_cli import put
from loopback import LoopbackServer
from processes_of_cli import finish, next_event, spawned

from reactor.resource.role import RemoteRole
from reactor.roles.errors import RoleError
from reactor.roles.fetching import RoleCache
from reactor.roles.git import repository
from reactor.roles.lock_file import Key, Locked, lock_text, read_lock

ROLE = """
parameters: {{word: string}}
resources:
  - file:
      - "{place}/out": {{ensure: present, content: "{text} {{{{ Parameters.word }}}}", {own}, mode: "0644"}}
"""


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """Two keys of OpenSSH: the paths of their private halves."""
    place = tmp_path_factory.mktemp("keys")
    for name in ("ours", "theirs"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / name], check=True)
    return place


def public(keys, name):
    return (keys / f"{name}.pub").read_text().strip()


class Repository:
    def __init__(self, place, tree, keys, *options):
        self.place, self.tree, self.keys = place, tree, keys
        self.url = f"file://{place}"
        place.mkdir()
        self.git("init", "-q", "-b", "main", *options)

    def git(self, *words):
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        who = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "gpg.format=ssh")
        words = ["git", "-C", self.place, *who, *words]
        return subprocess.run(
            words, check=True, capture_output=True, text=True, env=environment
        ).stdout.strip()

    def commit(self, text, key="ours", tag="v1"):
        """Commit the role with another text; return the commit."""
        filled = ROLE.format(place=self.tree.place, text=text, own="{own}")
        (self.place / "manifest.yaml").write_text(self.tree.filled(filled))
        self.git("add", ".")
        signing = ("-c", f"user.signingkey={self.keys / key}") if key else ()
        self.git(*signing, "commit", "-q", "-m", text, *(["-S"] if key else ["--no-gpg-sign"]))
        self.git("tag", "-f", tag)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path, tree, keys):
    repo = Repository(tmp_path / "repo", tree, keys)
    repo.first = repo.commit("one")
    return repo


def site(tree, **properties):
    """A manifest with a role that has these properties."""
    given = json.dumps({**properties, "parameters": {"word": "w"}})
    put(tree.place / "site.yaml", f"resources: [{{role: [{{web: {given}}}]}}]\n")


def roles(reactor, tree, command, *more):
    return reactor("roles", command, tree.site, "--cache", tree.place / "cache", *more)


def content(tree):
    return tree.load().graph.resources[f"file#{tree.place}/out"].content


def test_a_commit_needs_no_lock_and_no_server_once_it_is_there(tree, repo):
    site(tree, source=repo.url, revision=repo.first)
    assert content(tree) == "one w"
    repo.place.rename(tree.place / "gone")
    assert content(tree) == "one w"


def test_a_repository_whose_commits_have_ids_of_sha256_is_read(tree, keys, tmp_path):
    repo = Repository(tmp_path / "repo", tree, keys, "--object-format=sha256")
    site(tree, source=repo.url, revision=repo.commit("one"))
    assert content(tree) == "one w"


def test_a_tag_must_be_locked_and_then_stays_what_it_was_until_it_is_updated(reactor, tree, repo):
    site(tree, source=repo.url, revision="v1")
    assert [found[:3] for found in tree.problems()] == [("R0124", 1, 38)]
    done = roles(reactor, tree, "lock")
    assert (done.code, done.out) == (0, f"locked   {repo.url} v1: {repo.first[:12]}\n")
    assert content(tree) == "one w"
    second = repo.commit("two")
    assert content(tree) == "one w"
    assert roles(reactor, tree, "lock").out == f"kept     {repo.url} v1: {repo.first[:12]}\n"
    assert content(tree) == "one w"
    done = roles(reactor, tree, "update")
    assert done.out == f"changed  {repo.url} v1: {repo.first[:12]} -> {second[:12]}\n"
    assert content(tree) == "two w"
    assert roles(reactor, tree, "list").out == f"role#web  {repo.url}  v1  locked: {second[:12]}\n"


def test_what_the_manifest_no_longer_names_leaves_the_lock(reactor, tree, repo):
    site(tree, source=repo.url, revision="v1")
    roles(reactor, tree, "lock")
    put(tree.place / "site.yaml", "resources: []\n")
    assert roles(reactor, tree, "lock").out.startswith("removed  ")
    assert read_lock(str(tree.place / "roles.lock")) == {}


def test_a_role_that_this_host_does_not_use_is_locked_too(reactor, tree, repo):
    put(
        tree.place / "site.yaml",
        f"resources: [{{role: [{{web: {{source: '{repo.url}', revision: v1, parameters: {{word: w}}, "
        "control: {if: 'false'}}]}]\n".replace("}]}]", "}}]}]"),
    )
    assert roles(reactor, tree, "lock").out == f"locked   {repo.url} v1: {repo.first[:12]}\n"


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (("sha256:", "sha256:0"), "needs a source and a digest"),
        (("digest", "digst"), "has no 'digst'"),
        (("version: 1", "version: 2"), "reads lock files of version 1, not 2"),
        (("roles:", "role:"), "has a list under 'roles'"),
        (("roles:", "roles: 3\nx:"), "has a list under 'roles'"),
    ],
)
def test_a_malformed_lock_is_refused_with_its_place(reactor, tree, repo, edit, words):
    site(tree, source=repo.url, revision="v1")
    roles(reactor, tree, "lock")
    lock = tree.place / "roles.lock"
    lock.write_text(lock.read_text().replace(*edit, 1))
    found = tree.problems()
    assert {each[0] for each in found} == {"R0127"}
    assert words in " ".join(each[3] for each in found)


def test_a_role_that_is_locked_twice_is_refused(reactor, tree, repo):
    site(tree, source=repo.url, revision="v1")
    roles(reactor, tree, "lock")
    lock = tree.place / "roles.lock"
    head, entry = lock.read_text().split("roles:\n")
    lock.write_text(f"{head}roles:\n{entry}{entry}")
    [found] = tree.problems()
    assert (found[0], found[3]) == ("R0127", f"{repo.url} is locked twice")


def test_a_lock_file_does_not_depend_on_the_order_of_the_roles():
    lock = {
        Key(url, revision, path): Locked("0" * 64, "0" * 40)
        for url, revision, path in itertools.product(("b", "a"), ("v2", "v1"), ("y", "x"))
    }
    text = lock_text(lock)
    assert text == lock_text(dict(reversed(lock.items())))
    assert re.findall(r'source: "(\w)"', text) == [*"aaaabbbb"]


def test_a_changed_lock_is_refused(reactor, tree, repo):
    site(tree, source=repo.url, revision="v1")
    roles(reactor, tree, "lock")
    path = str(tree.place / "roles.lock")
    [(key, locked)] = read_lock(path).items()
    put(tree.place / "roles.lock", lock_text({key: locked._replace(digest="0" * 64)}))
    [found] = tree.problems()
    assert found[0] == "R0125"
    assert f"does not have the digest of the lock file: sha256:{locked.digest}" in found[3]
    put(tree.place / "roles.lock", lock_text({key: locked._replace(commit="0" * 40)}))
    assert [each[0] for each in tree.problems()] == ["R0123"]
    site(tree, source=repo.url, revision=repo.first)
    other = Key(repo.url, repo.first)
    put(tree.place / "roles.lock", lock_text({other: locked._replace(commit=repo.commit("two"))}))
    assert [each[0] for each in tree.problems()] == ["R0124"]


def test_only_a_commit_that_the_key_has_signed_is_used(reactor, tree, repo, keys):
    site(tree, source=repo.url, revision=repo.first, signed_by=public(keys, "ours"))
    assert content(tree) == "one w"
    site(tree, source=repo.url, revision=repo.first, signed_by=public(keys, "theirs"))
    [found] = tree.problems()
    assert (found[0], "no key in signed_by has signed the commit" in found[3]) == ("R0126", True)
    unsigned = repo.commit("two", key=None)
    site(tree, source=repo.url, revision=unsigned, signed_by=[public(keys, "ours"), public(keys, "theirs")])
    assert [each[0] for each in tree.problems()] == ["R0126"]
    site(
        tree,
        source=repo.url,
        revision=repo.commit("three", key="theirs"),
        signed_by=[public(keys, "ours"), public(keys, "theirs")],
    )
    assert content(tree) == "three w"


def test_a_repository_decides_over_no_command_and_no_link_leaves_a_role(tree, repo):
    os.symlink("/etc/passwd", repo.place / "passwd")
    site(tree, source=repo.url, revision=repo.commit("two"))
    [found] = tree.problems()
    assert found[0] == "R0123"
    assert "a role has only files and directories, and 'passwd' is a symbolic link" in found[3]


def test_a_tag_that_is_not_there_and_a_repository_that_is_not_there(reactor, tree, repo):
    site(tree, source=repo.url, revision="v9")
    assert "has no tag and no branch 'v9'" in roles(reactor, tree, "lock").err
    assert not (tree.place / "roles.lock").exists()
    site(tree, source=f"{repo.url}x", revision="v9")
    done = roles(reactor, tree, "lock")
    assert (done.code, "error[R0123]" in done.err) == (1, True)


@pytest.mark.parametrize("command", ["lock", "update", "list"])
def test_an_invalid_manifest_has_the_exit_code_that_it_has_elsewhere(reactor, tree, repo, command):
    put(tree.place / "site.yaml", "resources: [{file: [{/x: {ensure: presnt}}]}]\n")
    assert roles(reactor, tree, command).code == 2
    put(tree.place / "site.yaml", "resources: [\n")
    assert roles(reactor, tree, command).code == 2


def test_a_role_may_be_in_a_directory_of_the_repository(tree, repo):
    (repo.place / "deep/er").mkdir(parents=True)
    (repo.place / "deep/er/manifest.yaml").write_bytes((repo.place / "manifest.yaml").read_bytes())
    commit = repo.commit("two")
    site(tree, source=repo.url, revision=commit, path="deep/er")
    assert content(tree) == "one w"
    site(tree, source=repo.url, revision=commit, path="deep")
    assert [each[0] for each in tree.problems()] == ["R0123"]


def test_a_url_keeps_its_password_out_of_the_lock_the_arguments_and_messages():
    url = "https://ada:hunter2hunter2@example.org/web.git"
    assert Key.of(RemoteRole(url, "v1")) == Key("https://example.org/web.git", "v1")
    git = repository(url)
    assert git.url == "https://example.org/web.git"
    assert "hunter2" not in lock_text({Key.of(RemoteRole(url, "v1")): Locked("0" * 64, "0" * 40)})


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = self.server.files.get(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    with LoopbackServer(Handler) as server:
        server.files = {}
        yield server


def archive(tree, text):
    """A role as an archive, in a directory as servers of git make them."""
    data = tree.filled(ROLE.format(place=tree.place, text=text, own="{own}")).encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        info = tarfile.TarInfo("web-1.0/manifest.yaml")
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def signed(keys, name, body, place):
    path = place / "to-sign"
    path.write_bytes(body)
    (place / "to-sign.sig").unlink(missing_ok=True)
    words = ["ssh-keygen", "-q", "-Y", "sign", "-f", keys / name, "-n", "reactor-role", path]
    subprocess.run(words, check=True, capture_output=True)
    return (place / "to-sign.sig").read_bytes()


def test_an_archive_needs_a_checksum_or_a_lock_and_another_one_is_refused(reactor, tree, server):
    server.files = {"/web.tar.gz": (body := archive(tree, "one"))}
    url, digest = f"{server.base}/web.tar.gz", hashlib.sha256(body).hexdigest()
    site(tree, source=url)
    assert [each[0] for each in tree.problems()] == ["R0124"]
    site(tree, source=url, checksum=f"sha256:{digest}")
    assert content(tree) == "one w"
    site(tree, source=url, checksum="0" * 64)
    [found] = tree.problems()
    assert found[0] == "R0125"
    assert f"does not have the checksum of the manifest: it has sha256:{digest}" in found[3]
    site(tree, source=url)
    assert roles(reactor, tree, "lock").out == f"locked   {url}: sha256:{digest[:12]}\n"
    assert content(tree) == "one w"
    server.files = {"/web.tar.gz": archive(tree, "two")}
    assert content(tree) == "one w"
    site(tree, source=url, checksum="0" * 64)
    assert [each[0] for each in tree.problems()] == ["R0124"]


def test_an_archive_that_was_replaced_is_refused_where_it_is_not_in_the_cache(reactor, tree, server):
    server.files = {"/web.tar.gz": archive(tree, "one")}
    site(tree, source=f"{server.base}/web.tar.gz")
    roles(reactor, tree, "lock")
    server.files = {"/web.tar.gz": archive(tree, "two")}
    (tree.place / "cache").rename(tree.place / "old")
    [found] = tree.problems()
    assert found[0] == "R0125"
    assert "does not have the checksum of the lock file" in found[3]


def test_only_an_archive_with_the_signature_of_the_key_is_used(tree, server, keys):
    body = archive(tree, "one")
    url, digest = f"{server.base}/web.tar.gz", hashlib.sha256(body).hexdigest()
    site(tree, source=url, checksum=digest, signed_by=public(keys, "ours"))
    server.files = {"/web.tar.gz": body}
    assert [each[0] for each in tree.problems()] == ["R0123"]
    for signature in (signed(keys, "theirs", body, tree.place), signed(keys, "ours", b"x", tree.place), b"x"):
        server.files["/web.tar.gz.sig"] = signature
        assert [each[0] for each in tree.problems()] == ["R0126"]
    server.files["/web.tar.gz.sig"] = signed(keys, "ours", body, tree.place)
    assert content(tree) == "one w"


def test_what_is_refused_leaves_the_last_good_one_in_force(tree, repo, reactor):
    site(tree, source=repo.url, revision="v1")
    roles(reactor, tree, "lock")
    lock = (tree.place / "roles.lock").read_text()
    second = repo.commit("two", tag="v2")
    with spawned("run", "--format", "json", "--cache", tree.place / "cache", tree.site) as process:
        heard = partial(next_event, process)
        heard("converged")
        assert (tree.place / "out").read_text() == "one w"
        put(tree.place / "roles.lock", lock.replace(repo.first, second))
        assert "does not have the digest of the lock file" in heard("reloadrejected")["problems"][0]
        (tree.place / "out").write_text("drift")
        while (check := heard("checked"))["result"] != "changed":
            pass  # what the kernel reported late of our own write
        assert check["ref"] == f"file#{tree.place}/out"
        assert (tree.place / "out").read_text() == "one w"
        site(tree, source=repo.url, revision=second)
        assert heard("reloaded")["changed"] == ["role#web", f"file#{tree.place}/out"]
        heard("converged")
        assert (tree.place / "out").read_text() == "two w"
        process.send_signal(signal.SIGTERM)
        finish(process)


def test_a_running_engine_follows_the_files_of_a_local_role(tree):
    tree.put(
        site="resources: [{role: [web: {}]}]\n",
        roles__web__manifest="resources: [{file: [{dir}/out: {ensure: present, template: word.j2, {own}, mode: '0644'}]}]\n",
    )
    (tree.place / "roles/web/word.j2").write_text("one")
    with spawned("run", "--format", "json", tree.site) as process:
        heard = partial(next_event, process)
        heard("converged")
        put(tree.place / "roles/web/word.j2", "two")
        while heard("checked")["result"] != "changed":
            pass  # what the kernel reported late of our own write
        assert (tree.place / "out").read_text() == "two"
        tree.put(roles__web__manifest="resources: [{file: [{dir}/out: {ensure: present, content: x}]}]\n")
        heard("reloadrejected")
        tree.put(
            roles__web__manifest="resources: [{file: [{dir}/out: {ensure: present, content: three, {own}, mode: '0644'}]}]\n"
        )
        heard("reloaded")
        heard("converged")
        assert (tree.place / "out").read_text() == "three"
        process.send_signal(signal.SIGTERM)
        finish(process)


def test_a_cache_that_others_can_change_is_refused(tree, repo):
    (tree.place / "cache/roles").mkdir(parents=True)
    (tree.place / "cache/roles").chmod(0o777)
    site(tree, source=repo.url, revision=repo.first)
    [found] = tree.problems()
    assert found[0] == "R0401"
    with pytest.raises(RoleError):
        RoleCache(str(tree.place / "cache"))
