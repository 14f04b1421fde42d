"""The kind authorized_key: lines of one user, beside whatever else is in the file."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from hostkinds_worlds import assert_undone, shell
from ssh_keys import P256, ecdsa, ed25519, fields, rsa, sk_ecdsa, sk_ed25519

from reactor import ManifestError, load
from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resource.plan import ResourceError
from reactor.resources.accounts import User
from reactor.resources.ssh.authorized_key import AuthorizedKey
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running

HOME = Path("/home/ada")
FILE = HOME / ".ssh/authorized_keys"
KEY, OTHER, THIRD = (
    ed25519(seed, comment) for seed, comment in enumerate(("ada@laptop", "bob@desk", "eve@cafe"))
)


@pytest.fixture
def ada():
    shell("useradd --uid 1500 --create-home --home-dir /home/ada --shell /bin/sh ada")


def put(text, mode=0o600):
    FILE.parent.mkdir(mode=0o700, exist_ok=True)
    FILE.write_bytes(text if isinstance(text, bytes) else text.encode())
    FILE.chmod(mode)
    for path in (FILE, FILE.parent):
        os.chown(path, 1500, 1500)


def a_key(key=KEY, name="laptop", **more):
    return AuthorizedKey(name=name, user="ada", key=key, **more)


def world():
    found = {}
    for path in sorted(HOME.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else None
        found[str(path)] = (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, content)
    return found


def new():
    return Case(a_key, world, FILE.unlink)


def with_options():
    put(f"# mine\nno-pty {KEY}\n{OTHER}")
    make = lambda: a_key(options=("restrict", 'from="10.0.0.0/8"'), comment="Ada's laptop")  # noqa: E731
    return Case(make, world, lambda: put(FILE.read_text().replace("restrict", "no-pty")))


def absent():
    put(f"{OTHER}\n{KEY}\n")
    return Case(lambda: a_key(ensure="absent"), world, lambda: put(f"{OTHER}\n{KEY} again\n"))


def alone():
    put(f"{OTHER}\n{KEY}\n# a note\n")
    return Case(lambda: a_key(exclusive=True), world, lambda: put(f"{FILE.read_text()}{THIRD}\n"))


@pytest.mark.parametrize("case", [new, with_options, absent, alone], ids=lambda case: case.__name__)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_an_authorized_key_keeps_the_contract(promise, case, ada):
    await promise(case())


async def test_the_first_key_makes_directory_and_file_for_the_user(ada):
    await converge_once(a_key())
    assert FILE.read_text() == f"{KEY}\n"
    assert world() == {
        str(FILE.parent): (0o700, 1500, 1500, None),
        str(FILE): (0o600, 1500, 1500, f"{KEY}\n".encode()),
        **{path: seen for path, seen in world().items() if ".ssh" not in path},
    }


async def test_a_key_without_a_comment_gets_the_name_and_keeps_the_comment_it_has(ada):
    bare = KEY.rpartition(" ")[0]
    await converge_once(a_key(bare, "ada-laptop"))
    assert FILE.read_text() == f"{bare} ada-laptop\n"
    put(f"{bare} hers\n")
    ended, _ = await converge_once(a_key(bare, "ada-laptop"))
    assert ended.changes == 0


STRANGE = b"# caf\xe9\n\n   \nnonsense here\r\n1024 35 1234 old@ssh1\nssh-ed25519 AAAA\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", f"{KEY}\n".encode()),
        (STRANGE, STRANGE + f"{KEY}\n".encode()),
        (STRANGE[:-1], STRANGE + f"{KEY}\n".encode()),
        (f"{OTHER}\r\n".encode(), f"{OTHER}\r\n{KEY}\n".encode()),
        (f"no-pty {KEY}\r\n{OTHER}\n".encode(), f"{KEY}\r\n{OTHER}\n".encode()),
        (f"{KEY} was elsewhere\n".encode(), f"{KEY}\n".encode()),
        (f'command="a \\" b, c d",no-pty {KEY}'.encode(), KEY.encode()),
        (f"{KEY}\n{OTHER}\nno-pty {KEY}\n".encode(), f"{KEY}\n{OTHER}\n".encode()),
    ],
)
async def test_one_line_is_brought_right_and_all_others_stay(before, after, ada):
    put(before)
    await converge_once(a_key())
    assert FILE.read_bytes() == after
    ended, _ = await converge_once(a_key())
    assert ended.changes == 0


@pytest.mark.parametrize("options", [(), ("no-pty",), ("restrict", 'command="echo \\"hi\\", you"', "pty")])
async def test_options_are_brought_right_whatever_was_there(options, ada):
    put(f'from="10.0.0.0/8,192.168.0.0/16",no-pty {KEY}\n')
    await converge_once(a_key(options=options))
    assert FILE.read_text() == " ".join(filter(None, (",".join(options), KEY))) + "\n"
    ended, _ = await converge_once(a_key(options=options))
    assert ended.changes == 0


async def test_ssh_keygen_reads_what_was_written(ada):
    await converge_once(*(a_key(key, f"k{at}") for at, key in enumerate(EVERY)))
    done = subprocess.run(["ssh-keygen", "-l", "-f", FILE], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == len(EVERY)


EVERY = [KEY, rsa(2048), ecdsa("nistp256", P256), sk_ed25519(), sk_ecdsa()]  # fmt: skip


async def test_a_hundred_keys_are_written_at_once_and_lose_nothing(ada):
    put("# a note\n")
    keys = [a_key(ed25519(seed + 100, f"k{seed}"), f"k{seed}") for seed in range(100)]
    gone = a_key(OTHER, "gone", ensure="absent")
    ended, _ = await converge_once(*keys, gone)
    assert ended.counts[Result.CHANGED] == 100
    assert sorted(FILE.read_text().splitlines()) == sorted(["# a note", *(each.key for each in keys)])
    assert len(list((FILE.parent).iterdir())) == 1


GOOD = f"""
resources:
  - authorized_key:
      - laptop: {{user: ada, key: "{KEY}", exclusive: true}}
      - desk: {{user: ada, key: "{OTHER}", options: [no-pty]}}
      - root-laptop: {{user: root, key: "{THIRD}", path: /etc/keys/root}}
"""


def manifest(tmp_path, text):
    (tmp_path / "site.yaml").write_text(text)
    return load(str(tmp_path / "site.yaml")).graph


async def test_exclusive_removes_every_key_that_no_resource_names(ada, tmp_path):
    put(f"# a note\n{THIRD}\n{OTHER}\n{ed25519(7)} seven\ngarbage\n")
    Path("/etc/keys").mkdir()
    await converge_once(graph=manifest(tmp_path, GOOD))
    assert FILE.read_text().splitlines() == ["# a note", f"no-pty {OTHER}", "garbage", KEY]
    ended, _ = await converge_once(graph=manifest(tmp_path, GOOD))
    assert ended.changes == 0


async def test_exclusive_sees_keys_of_types_that_come_later(ada, tmp_path):
    later = f"ssh-mldsa {fields(b'ssh-mldsa', bytes(100))} later"
    put(f"{later}\nno-pty {later}\n")
    await converge_once(a_key(exclusive=True))
    assert FILE.read_text() == f"{KEY}\n"


async def test_the_user_goes_first_and_a_rehearsal_says_so():
    user = User(name="ada", uid=1500, home=str(HOME), manage_home=True)
    _, story = await converge_once(user, a_key(), options=RunOptions(noop=True))
    (check,) = story.checks("authorized_key#laptop")
    assert check.actions == ("Can't tell before user#ada is applied (there is no user ada)",)
    ended, _ = await converge_once(user, a_key())
    assert ended.counts[Result.CHANGED] == 2
    assert FILE.read_text() == f"{KEY}\n"


async def test_a_key_of_a_user_who_comes_later_is_watched_in_that_home():
    async with running(a_key()) as story:
        await story.until(lambda: story.result("authorized_key#laptop") is Result.FAILED)
        shell("useradd --uid 1500 --create-home --home-dir /home/ada ada")
        await story.converged()
        await story.rest()
        FILE.unlink()
        await story.until(FILE.exists)
        await story.rest()


async def test_a_home_that_moves_takes_the_watch_along(ada):
    moved = Path("/home/lovelace/.ssh/authorized_keys")
    async with running(a_key()) as story:
        await story.converged()
        shell("usermod --home /home/lovelace --move-home ada")
        await story.rest()
        await story.until(moved.exists)
        await story.rest()
        moved.unlink()
        await story.until(moved.exists)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        ("chmod 0775 /home/ada", "others may write in /home/ada (mode 0775)"),
        ("chmod 0757 /home/ada", "others may write in /home/ada (mode 0757)"),
        ("chown 1234 /home/ada", "/home/ada belongs to 1234"),
    ],
)
async def test_what_strict_modes_of_sshd_refuse_is_an_error_in_a_rehearsal_too(spoil, words, ada):
    shell(spoil)
    before = world()
    for noop in (True, False):
        ended, story = await converge_once(a_key(), options=RunOptions(noop=noop))
        assert ended.counts[Result.FAILED] == 1
        assert words in story.checks("authorized_key#laptop")[-1].error
    assert world() == before
    ended, _ = await converge_once(a_key(strict_modes=False))
    assert ended.counts[Result.CHANGED] == 1


@pytest.mark.parametrize("mode", [0o660, 0o606, 0o666])
async def test_others_lose_the_right_to_write_the_file_and_its_directory(mode, ada):
    put(f"{KEY}\n", mode)
    FILE.parent.chmod(0o770)
    await converge_once(a_key())
    assert stat.S_IMODE(FILE.stat().st_mode) == mode & ~0o022
    assert stat.S_IMODE(FILE.parent.stat().st_mode) == 0o750


async def test_a_file_of_another_user_is_not_given_away(ada):
    put(f"{KEY}\n")
    os.chown(FILE, 1234, 1234)
    ended, story = await converge_once(a_key())
    assert ended.counts[Result.FAILED] == 1
    assert "it belongs to 1234" in story.checks("authorized_key#laptop")[-1].error
    assert FILE.stat().st_uid == 1234


async def test_a_path_elsewhere_needs_its_directory_and_keeps_the_owner_of_its_file(ada):
    elsewhere = Path("/etc/ssh/keys/ada")
    ended, story = await converge_once(a_key(path=str(elsewhere)), options=RunOptions(noop=True))
    assert ended.counts[Result.FAILED] == 1
    assert '"/etc/ssh/keys" is not a directory' in story.checks("authorized_key#laptop")[-1].error
    elsewhere.parent.mkdir(parents=True)
    elsewhere.write_text(f"{OTHER}\n")
    elsewhere.chmod(0o644)
    await converge_once(a_key(path=str(elsewhere)))
    assert elsewhere.read_text() == f"{OTHER}\n{KEY}\n"
    assert (elsewhere.stat().st_uid, stat.S_IMODE(elsewhere.stat().st_mode)) == (0, 0o644)
    assert not FILE.parent.exists()


async def test_the_key_of_a_user_who_does_not_exist_is_absent():
    ended, _ = await converge_once(a_key(ensure="absent"))
    assert (ended.changes, ended.counts[Result.FAILED]) == (0, 0)


async def test_a_user_without_a_home_is_an_error_that_says_how_to_make_one():
    shell("useradd --uid 1500 --no-create-home --home-dir /home/ada ada")
    with pytest.raises(ResourceError, match="the home /home/ada of ada does not exist"):
        await a_key().observe()


async def test_it_is_undone(ada):
    put(f"no-pty {KEY}\n{OTHER}\n")
    await assert_undone(a_key(), world)
    await assert_undone(a_key(ensure="absent"), lambda: sorted(FILE.read_text().splitlines()))
    await assert_undone(a_key(THIRD), world)


# What a user may do with their own directory.


def as_ada(command):
    subprocess.run(
        ["setpriv", "--reuid=1500", "--regid=1500", "--clear-groups", "sh", "-ec", command], check=True
    )


@pytest.mark.parametrize(
    ("attack", "words"),
    [
        ("mkdir .ssh; ln -s /etc/secret .ssh/authorized_keys", "leads through a symlink of ada"),
        ("ln -s /etc/secrets .ssh", "leads through a symlink of ada"),
        ("mkdir .ssh; mkfifo .ssh/authorized_keys", "is not a regular file"),
        ("mkdir -p .ssh/authorized_keys", "is not a regular file"),
        ("mkdir .ssh; truncate -s 100G .ssh/authorized_keys", "bytes"),
        ("touch .ssh", "Not a directory"),
    ],
)
async def test_a_user_gets_nothing_of_root_by_it(attack, words, ada):
    Path("/etc/secret").write_text("only for root\n")
    Path("/etc/secret").chmod(0o600)
    Path("/etc/secrets").mkdir(mode=0o755)
    as_ada(f"cd; {attack}".replace("cd;", "cd /home/ada;"))
    for noop in (True, False):
        ended, story = await converge_once(a_key(), options=RunOptions(noop=noop, diff=True))
        assert ended.counts[Result.FAILED] == 1
        check = story.checks("authorized_key#laptop")[-1]
        assert words in check.error
        assert "only for root" not in str(check)
    assert Path("/etc/secret").read_text() == "only for root\n"
    assert Path("/etc/secret").stat().st_uid == 0
    assert list(Path("/etc/secrets").iterdir()) == []


async def test_a_symlink_to_a_file_of_the_users_own_is_followed_and_stays(ada):
    as_ada(
        f"cd /home/ada; mkdir .ssh dotfiles; echo '{OTHER}' >dotfiles/keys; ln -s ../dotfiles/keys .ssh/authorized_keys"
    )
    await converge_once(a_key())
    assert FILE.is_symlink()
    assert (HOME / "dotfiles/keys").read_text() == f"{OTHER}\n{KEY}\n"
    assert (HOME / "dotfiles/keys").stat().st_uid == 1500


@pytest.mark.parametrize("make", ["mount -t tmpfs -o ro none /home/ada", "mount -t tmpfs -o size=4k,uid=1500,mode=755 none /home/ada && { head -c 4096 /dev/zero >/home/ada/full || :; }"])  # fmt: skip
async def test_a_disk_that_takes_nothing_leaves_the_old_state(make, ada):
    shell(make)
    before = world()
    ended, _ = await converge_once(a_key(strict_modes=False))
    assert ended.counts[Result.FAILED] == 1
    assert {path for path in world() if not path.endswith(".ssh")} == set(before)
    shell("umount /home/ada")


# What is written in a manifest.

PRIVATE = "-----BEGIN OPENSSH PRIVATE KEY----- b3BlbnNzaC1rZXktdjEAAAA"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (f'user: ada, key: "{PRIVATE}"', "this is a private key"),
        ('user: ada, key: "ssh-dss AAAA"', "no longer accepts keys of type ssh-dss"),
        ('user: ada, key: "no-pty ssh-rsa AAAA"', "a key begins with its type"),
        ('user: ada, key: "ssh-ed25519"', "nothing follows the type ssh-ed25519"),
        ('user: ada, key: "ssh-ed25519 AA*A"', "is base64, and this is not"),
        (f'user: ada, key: "ssh-rsa {KEY.split()[1]}"', "says that its type is ssh-ed25519, not ssh-rsa"),
        (f'user: ada, key: "ssh-ed25519 {KEY.split()[1][:40]}"', "its end is missing"),
        (f'user: ada, key: "{rsa(768)}"', "the RSA key has 768 bits"),
        (
            f'user: ada, key: "{ecdsa("nistp256", P256[:-1])}"',
            "does not have the length of ecdsa-sha2-nistp256",
        ),
        (f'user: ada, key: "{KEY}", options: [no-tty]', "'no-tty' is not an option of a key"),
        (f"user: ada, key: '{KEY}', options: [from=10.0.0.0/8]", "stands in double quotes"),
        (f'user: ada, key: "{KEY}", options: [no-pty, no-pty]', "no-pty is listed twice"),
        (f'user: ada, key: "{KEY}", options: [no-pty=1]', "no-pty takes no value"),
        (f'user: ada, key: "{KEY}\\nssh-rsa AAAA"', "a key is one line of text"),
        (f'user: ada, key: "{KEY}", ensure: absent, exclusive: true', "exclusive is only valid with"),
        (f'user: "a b", key: "{KEY}"', "is not a valid account name"),
        (f'user: ada, key: "{KEY}", comment: "a\\nb"', "a comment is one line of text"),
        (f'key: "{KEY}"', "user"),
    ],
)
def test_what_is_wrong_is_an_error_with_its_place(entry, message, tmp_path):
    with pytest.raises(ManifestError) as raised:
        manifest(tmp_path, f"resources:\n  - authorized_key:\n      - laptop: {{{entry}}}\n")
    (found,) = raised.value.diagnostics
    assert message in found.message
    assert found.place.line == 3
    assert "b3BlbnNzaC1rZXk" not in repr(found)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (f'authorized_key: [{{other: {{user: ada, key: "{KEY}", options: [no-pty]}}}}]', "do not agree on options"),
        (f'authorized_key: [{{other: {{user: ada, key: "{KEY}", ensure: absent}}}}]', "do not agree on ensure"),
        (f'authorized_key: [{{other: {{user: root, key: "{KEY}", path: /home/ada/.ssh/authorized_keys}}}}]', "do not agree on content of the path"),
        ("user: [{ada: {ensure: absent}}]", "do not agree on ensure of the user ada"),
        ("file: [{/home/ada/.ssh/authorized_keys: {ensure: present, content: x, owner: ada, group: ada, mode: '0600'}}]", "do not agree on content of the path"),
    ],
)  # fmt: skip
def test_contradictions_are_found_when_the_manifest_is_loaded(more, message, ada, tmp_path):
    text = f'resources:\n  - authorized_key: [{{laptop: {{user: ada, key: "{KEY}"}}}}]\n  - {more}\n'
    with pytest.raises(ManifestError, match=message):
        manifest(tmp_path, text)


LONGER = [ecdsa("nistp384", bytes(97)), ecdsa("nistp521", bytes(133))]


@pytest.mark.parametrize("key", [*EVERY, *LONGER])
def test_every_type_of_openssh_is_accepted(key):
    assert a_key(key).key == key


def test_the_sandbox_leaves_the_home_open_or_the_directory_of_the_file(ada):
    assert a_key().sandbox_access() == (str(HOME),)
    assert a_key(path="/etc/ssh/keys/ada").sandbox_access() == ("/etc/ssh/keys",)


def test_the_sandbox_leaves_all_homes_open_for_a_user_who_comes_later():
    assert a_key().sandbox_access() == ("/home",)
