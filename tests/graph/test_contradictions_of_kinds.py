"""What two resources of our kinds can't both have is an error of the manifest, with both places."""

import os

import pytest

from reactor.loading import load
from reactor.resource.diagnostic import ManifestError
from reactor.watchers import units

NATIVE = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
MACHINE = os.uname().machine


@pytest.fixture
def unit_files(tmp_path, monkeypatch):
    """Directories of unit files, in the first of which ``sshd`` is an alias of ``ssh``."""
    found = tmp_path / "etc", tmp_path / "usr"
    for directory in found:
        directory.mkdir()
    (found[1] / "ssh.service").write_text("[Install]\nAlias=sshd.service\n")
    (found[0] / "sshd.service").symlink_to(found[1] / "ssh.service")
    (found[0] / "masked.service").symlink_to("/dev/null")
    monkeypatch.setattr(units, "_SYSTEM_DIRECTORIES", tuple(map(str, found)))
    return found


def problems(tmp_path, *resources):
    """Each problem of the manifest, as its message and the lines and columns of both places."""
    manifest = tmp_path / "site.yaml"
    lines = (f"  - {kind}: [{rest}]" for kind, _, rest in (each.partition(": ") for each in resources))
    manifest.write_text("\n".join(["resources:", *lines, ""]))
    try:
        load(str(manifest))
    except ManifestError as error:
        return [
            (each.message, str(each.place.line), *(str(place.line) for _, place in each.notes))
            for each in error.diagnostics
        ]
    return []


CONTRADICTIONS = {
    "a unit and its alias": (
        "service: {ssh: {enable: true}}",
        "service: {sshd: {enable: false}}",
        "service#ssh and service#sshd do not agree on enable of the unit ssh.service",
    ),
    "a package with the architecture of the host": (
        "package: {app: {ensure: present, provider: apt}}",
        f"package: {{'app:{NATIVE}': {{ensure: absent, provider: apt}}}}",
        f"package#app and package#app:{NATIVE} do not agree on ensure of the package app",
    ),
    "a package with the architecture of the host, for dnf": (
        "package: {app: {ensure: present, provider: dnf}}",
        f"package: {{app.{MACHINE}: {{ensure: absent, provider: dnf}}}}",
        f"package#app and package#app.{MACHINE} do not agree on ensure of the package app",
    ),
    "a user whose primary group must be absent": (
        "group: {web: {ensure: absent}}",
        "user: {ada: {group: web}}",
        "group#web and user#ada do not agree on ensure of the group web",
    ),
    "two architectures in two versions": (
        "package: {'app:armel': {ensure: 1.0-1, provider: apt}}",
        "package: {app: {ensure: 1.0-2, provider: apt}}",
        "package#app:armel and package#app do not agree on ensure of the version of the package app",
    ),
    "groups of a user, members of a group": (
        "group: {wheel: {members: [bob], membership: inclusive}}",
        "user: {ada: {groups: [wheel]}}",
        "user#ada adds ada to the members of the group wheel, and group#wheel removes it",
    ),
    "members of a group, groups of a user": (
        "user: {ada: {groups: [staff], membership: inclusive}}",
        "group: {wheel: {members: [ada]}}",
        "group#wheel adds wheel to the groups of the user ada, and user#ada removes it",
    ),
    "a group that goes": (
        "group: {wheel: {ensure: absent}}",
        "user: {ada: {groups: [wheel]}}",
        "group#wheel and user#ada do not agree on ensure of the group wheel",
    ),
    "the own group of a user": (
        "group: {ada: {ensure: absent}}",
        "user: {ada: {shell: /bin/sh}}",
        "group#ada and user#ada do not agree on ensure of the group ada",
    ),
    "a home that goes": (
        "file: {/home/ada: {ensure: absent}}",
        "user: {ada: {home: /home/ada, manage_home: true}}",
        "file#/home/ada and user#ada do not agree on ensure of the path /home/ada",
    ),
    "a home that is a link": (
        "user: {ada: {home: /home/ada, create_home: true}}",
        "file: {/home/ada: {ensure: link, target: /srv}}",
        "user#ada and file#/home/ada do not agree on ensure of the path /home/ada",
    ),
    "a home that is a file": (
        "file: {/home/ada: {ensure: present, content: x, owner: root, group: root, mode: '0644'}}",
        "user: {ada: {home: /home/ada, manage_home: true}}",
        "file#/home/ada and user#ada do not agree on ensure of the path /home/ada",
    ),
    "a member that goes": (
        "user: {ada: {ensure: absent}}",
        "group: {wheel: {members: [ada]}}",
        "user#ada and group#wheel do not agree on ensure of the user ada",
    ),
    "two repositories of one URL": (
        "repository: {a: {url: 'http://h/app', suites: [x], components: [main], provider: apt, trusted: true}}",
        "repository: {b: {url: 'http://h/app/', suites: [x], components: [main], provider: apt, trusted: true}}",
        "repository#a and repository#b do not agree on name of the repository http://h/app x main",
    ),
    "two repositories of one URL, for dnf": (
        "repository: {a: {url: 'http://h/app', provider: dnf, trusted: true}}",
        "repository: {b: {url: 'http://me:mine@h/app', provider: dnf, trusted: true}}",
        "repository#a and repository#b do not agree on name of the repository http://h/app",
    ),
    "two keys of one suite": (
        "repository: {a: {url: 'http://h/app', suites: [x], components: [main], provider: apt, key: /a.asc}}",
        "repository: {b: {url: 'http://h/app', suites: [x], components: [extra], provider: apt, key: /b.asc}}",
        "repository#a and repository#b do not agree on key of the signature of the repository http://h/app x",
    ),
    "the mode of a job of cron": (
        "cron: {job: {schedule: '@daily', command: /bin/true}}",
        "file: {/etc/cron.d/job: {ensure: present, owner: root, group: root, mode: '0600'}}",
        "cron#job and file#/etc/cron.d/job do not agree on mode of the path /etc/cron.d/job",
    ),
    "the owner of limits": (
        "limits: {db: {nofile: 99}}",
        "file: {/etc/security/limits.d/db.conf: {ensure: present, owner: db, group: '0', mode: '0644'}}",
        (
            "limits#db and file#/etc/security/limits.d/db.conf do not agree on owner of the path "
            "/etc/security/limits.d/db.conf"
        ),
    ),
    "the file of a repository": (
        "repository: {a: {url: 'http://h/app', suites: [x], components: [main], provider: apt, trusted: true}}",
        "file: {/etc/apt/sources.list.d/a.sources: {ensure: absent}}",
        (
            "repository#a and file#/etc/apt/sources.list.d/a.sources do not agree on ensure of the path "
            "/etc/apt/sources.list.d/a.sources"
        ),
    ),
    "the file of a kernel parameter": (
        "sysctl: {vm.swappiness: {value: 10}}",
        "file: {/etc/sysctl.d/zz-reactor-vm.swappiness.conf: {ensure: present, content: x, mode: '0644', owner: root, group: root}}",
        (
            "sysctl#vm.swappiness and file#/etc/sysctl.d/zz-reactor-vm.swappiness.conf do not agree on content of the path "
            "/etc/sysctl.d/zz-reactor-vm.swappiness.conf"
        ),
    ),
    "the file of a kernel module": (
        "kernel_module: {loop: {}}",
        "file: {/etc/modules-load.d/reactor-loop.conf: {ensure: absent}}",
        (
            "kernel_module#loop and file#/etc/modules-load.d/reactor-loop.conf do not agree on ensure of the path "
            "/etc/modules-load.d/reactor-loop.conf"
        ),
    ),
    "the symlink of the time zone": (
        "timezone: {Europe/Vienna: {}}",
        "file: {/etc/localtime: {ensure: absent}}",
        "timezone#Europe/Vienna and file#/etc/localtime do not agree on ensure of the path /etc/localtime",
    ),
    "the choice of alternatives": (
        "alternatives: {editor: {path: /usr/bin/vi}}",
        "file: {/etc/alternatives/editor: {ensure: link, target: /usr/bin/nano}}",
        "alternatives#editor and file#/etc/alternatives/editor do not agree on target of the path /etc/alternatives/editor",
    ),
    "a file of a certificate": (
        "certificate: {/srv/tls: {names: [a.example]}}",
        "file: {/srv/tls/key.pem: {ensure: present, owner: root, group: root, mode: '0640'}}",
        "certificate#/srv/tls and file#/srv/tls/key.pem do not agree on ensure of the path /srv/tls/key.pem",
    ),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
@pytest.mark.parametrize("turned", [False, True])
def test_a_contradiction_is_an_error_with_both_places(name, turned, tmp_path, unit_files):
    first, second, message = CONTRADICTIONS[name]
    resources = (second, first) if turned else (first, second)
    ((told, *lines),) = problems(tmp_path, *resources)
    assert sorted(told.split()) == sorted(message.split()) if turned else told == message
    assert sorted(lines) == ["2", "3"]


AGREEMENTS = {
    "a unit and its alias that want the same": (
        "service: {ssh: {enable: true}}", "service: {sshd: {ensure: running}}",
    ),
    "the number of root": (
        "limits: {db: {nofile: 99}}",
        "file: {/etc/security/limits.d/db.conf: {ensure: present, owner: '0', group: '0', mode: '0644'}}",
    ),
    "two masked units": ("service: {masked: {ensure: stopped}}", "service: {ssh: {ensure: running}}"),
    "two architectures": (
        "package: {app: {ensure: present, provider: apt}}",
        "package: {'app:armel': {ensure: absent, provider: apt}}",
    ),
    "a version is present": (
        "package: {app: {ensure: present, provider: apt}}",
        f"package: {{'app:{NATIVE}': {{ensure: 1.0-1, provider: apt}}}}",
    ),
    "a member of both": (
        "group: {wheel: {members: [ada], membership: inclusive}}",
        "user: {ada: {groups: [wheel], membership: inclusive}}",
    ),
    "members besides": ("group: {wheel: {members: [bob]}}", "user: {ada: {groups: [wheel]}}"),
    "the primary group": (
        "group: {wheel: {members: [bob], membership: inclusive}}", "user: {ada: {group: wheel}}",
    ),
    "a user with another primary group": ("group: {ada: {ensure: absent}}", "user: {ada: {group: users}}"),
    "a group for a user": ("group: {ada: {gid: 4711}}", "user: {ada: {}}"),
    "a home and its owner": (
        "user: {ada: {home: /home/ada, manage_home: true}}",
        "file: {/home/ada: {ensure: directory, owner: ada, group: ada, mode: '0700'}}",
    ),
    "a link to a home that is not made": (
        "user: {ada: {home: /home/ada}}", "file: {/home/ada: {ensure: link, target: /srv}}",
    ),
    "a repository under a new name": (
        "repository: {a: {ensure: absent, url: 'http://h/app', provider: dnf}}",
        "repository: {b: {url: 'http://h/app', provider: dnf, trusted: true}}",
    ),
    "two suites": (
        "repository: {a: {url: 'http://h', suites: [x], components: [main], provider: apt, trusted: true}}",
        "repository: {b: {url: 'http://h', suites: [y], components: [main], provider: apt, trusted: true}}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", AGREEMENTS)
def test_what_goes_together_is_no_contradiction(name, tmp_path, unit_files):
    assert problems(tmp_path, *AGREEMENTS[name]) == []


OWN = "owner: root, group: root, mode: '0644'"


def test_a_file_whose_source_leads_back_to_it_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "ln").symlink_to("real")
    (tmp_path / "to").symlink_to("real/f")
    for source in ("ln/f", "to"):
        resource = f"file: {{{tmp_path}/real/f: {{ensure: present, source: {source}, {OWN}}}}}"
        ((message, line),) = problems(tmp_path, resource)
        assert message == (
            f"file#{tmp_path}/real/f would be a copy of itself: {tmp_path}/{source} leads to {tmp_path}/real/f"
        )
        assert line == "2"


def test_a_scaffold_whose_source_leads_into_it_is_refused(tmp_path):
    (tmp_path / "real" / "templates").mkdir(parents=True)
    (tmp_path / "ln").symlink_to("real/templates")
    resource = f"scaffold: {{{tmp_path}/real: {{ensure: present, source: ln}}}}"
    ((message, _),) = problems(tmp_path, resource)
    assert message.startswith(f"scaffold#{tmp_path}/real would be a copy of itself")


@pytest.mark.parametrize(
    ("given", "differs"),
    [
        ("", ()),
        ('owner: root, group: root, directory_mode: "0755"', ()),
        ('owner: daemon, directory_mode: "0700"', ("owner and mode",)),
        ("group: daemon", ("group",)),
    ],
)
def test_a_scaffold_and_a_directory_agree_on_owner_and_mode(tmp_path, given, differs):
    found = problems(
        tmp_path,
        f'file: {{{tmp_path}/out: {{ensure: directory, owner: root, group: root, mode: "0755"}}}}',
        f"scaffold: {{{tmp_path}/out: {{ensure: present, source: templates, {given}}}}}",
    )
    out = f"{tmp_path}/out"
    words = "file#{0} and scaffold#{0} do not agree on {1} of the path {0}"
    assert [message for message, *_ in found] == [words.format(out, each) for each in differs]


def test_a_source_that_is_the_symlink_of_yesterday_is_no_copy_of_itself(tmp_path):
    """The file is a symlink to its source now, and becomes a file."""
    (tmp_path / "source").write_text("x")
    (tmp_path / "f").symlink_to("source")
    assert problems(tmp_path, f"file: {{{tmp_path}/f: {{ensure: present, source: source, {OWN}}}}}") == []
