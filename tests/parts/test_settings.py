"""The kind setting: one key of a file in each format, and all the rest of the file as it was."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from parts_worlds import applied, setting

from reactor.resource.plan import ResourceError
from reactor.resources.parts.setting_formats import format_of

SSHD = "Include /x\n\n#Port 22\n#PermitRootLogin prohibit-password\nUsePAM yes\n\n# Example\nMatch User git\n  X11Forwarding no # never\n"
UNIT = "[Unit]\nA=b\n\n[Service]\nExecStart=/bin/a \\\n# why\n   b\n\n[Install]\nWantedBy=x\n"
PHP = "[PHP]\r\n; how much\r\nmemory_limit = 128M ; per request\r\n[Date]\r\n;date.timezone =\r\n"


def sshd(key, value=None, **properties):
    return setting(key, "sshd", **({} if value is None else {"value": value}), **properties)


def unit(key, value, section="Service"):
    return setting(key, "systemd", value=value, section=section)


def ini(key, value, section=None, path="ini"):
    return setting(key, path, value=value, section=section)


@pytest.mark.parametrize(
    ("part", "before", "after"),
    [
        pytest.param(sshd("PermitRootLogin", "no"), SSHD, SSHD.replace("password\n", "password\nPermitRootLogin no\n"), id="behind its commented default"),
        pytest.param(sshd("usepam", "no"), SSHD, SSHD.replace("UsePAM yes", "UsePAM no"), id="keywords ignore case"),
        pytest.param(sshd("UsePAM", True), SSHD, SSHD, id="true is yes"),
        pytest.param(sshd("Banner", "none"), SSHD, SSHD.replace("UsePAM yes\n", "UsePAM yes\nBanner none\n"), id="before the first Match"),
        pytest.param(sshd("X11Forwarding", "yes"), SSHD, SSHD.replace("UsePAM yes\n", "UsePAM yes\nX11Forwarding yes\n"), id="a Match block is another place"),
        pytest.param(sshd("X11Forwarding", "yes", section="match  User git"), SSHD, SSHD.replace("ing no", "ing yes"), id="in a Match block, its comment stays"),
        pytest.param(sshd("A", "2", section="match user git"), "Match User git\n  A 1\n", "Match User git\n  A 2\n", id="criteria ignore case"),
        pytest.param(sshd("A", "2", section="Match User git"), "Match User Git\n  A 1\n", "Match User Git\n  A 1\n\nMatch User git\n    A 2\n", id="their values do not"),
        pytest.param(sshd("A", "2", section="Match User git"), "Match User git # x\n  A 1\n", "Match User git # x\n  A 2\n", id="a comment behind a Match"),
        pytest.param(sshd("A", "2", section="Match User git Address ::1"), 'Match user="git" address=::1\n  A 1\n', 'Match user="git" address=::1\n  A 2\n', id="equals signs and quotes in a Match"),
        pytest.param(sshd("A", "2", section='Match exec "test -e /A"'), 'Match exec "test -e /a"\n  A 1\n', 'Match exec "test -e /a"\n  A 1\n\nMatch exec "test -e /A"\n    A 2\n', id="a command in a Match"),
        pytest.param(sshd("A", "2", section="Match all"), "Match canonical ALL\n  A 1\nMatch All\n  A 1\n", "Match canonical ALL\n  A 1\nMatch All\n  A 2\n", id="criteria without a value"),
        pytest.param(sshd("Banner", "x", section="Match User bob"), SSHD, SSHD + "\nMatch User bob\n    Banner x\n", id="a new Match block"),
        pytest.param(sshd("Port", "22"), "Port 22\nUsePAM yes\nPort 23\n", "Port 22\nUsePAM yes\n", id="the first counts, others go"),
        pytest.param(sshd("Port", [22, 2222]), "Port 22\nUsePAM yes\n", "Port 22\nPort 2222\nUsePAM yes\n", id="a list is several lines"),
        pytest.param(sshd("Port", ensure="absent"), "Port 22\n#Port 1\nport 23\n", "#Port 1\n", id="removed"),
        pytest.param(sshd("Banner", "x"), "# all\n\n# git\nMatch User git\n", "# all\nBanner x\n\n# git\nMatch User git\n", id="comments above a Match belong to it"),
        pytest.param(sshd("Port", "22"), "Port=23", "Port=22", id="with an equals sign"),
        pytest.param(unit("Restart", "always"), UNIT, UNIT.replace("   b\n", "   b\nRestart=always\n"), id="in its section"),
        pytest.param(unit("ExecStart", "/bin/a b"), UNIT, UNIT, id="a value of several lines"),
        pytest.param(unit("ExecStart", "/bin/c"), UNIT, UNIT.replace("/bin/a \\\n# why\n   b", "/bin/c"), id="all its lines are replaced"),
        pytest.param(unit("ExecStart", ["", "/bin/c"]), "", "[Service]\nExecStart=\nExecStart=/bin/c\n", id="a list that begins with a reset"),
        pytest.param(unit("Nice", 5, "Slice"), UNIT, UNIT + "\n[Slice]\nNice=5\n", id="a new section"),
        pytest.param(unit("A", "c", "Unit"), "[Unit]\nA=b\n[X]\nA=d\n[Unit]\nA=e\n", "[Unit]\nA=c\n[X]\nA=d\n[Unit]\n", id="a section in two places"),
        pytest.param(ini("memory_limit", "512M", "PHP"), PHP, PHP.replace("128M", "512M"), id="the comment behind it stays"),
        pytest.param(ini("date.timezone", "UTC", "Date"), PHP, PHP + "date.timezone = UTC\r\n", id="behind its commented default, CRLF"),
        pytest.param(ini("a", "x ; y"), "a = b ; c\n", "a = x ; y\n", id="a value like a comment"),
        pytest.param(ini("a", "2"), "a=1\n[s]\na=1\n", "a=2\n[s]\na=1\n", id="before any section"),
        pytest.param(ini("deps", "a", "options", "/x/setup.cfg"), "[options]\ndeps =\n  foo>=1\n  bar\nx = y\n", "[options]\ndeps = a\nx = y\n", id="an indented value"),
        pytest.param(ini("bare", "true", "core", "/x/.gitconfig"), "[core]\n\teditor = vi\n", "[core]\n\teditor = vi\n\tbare = true\n", id="the indent of its neighbour"),
        pytest.param(ini("skip", "1", "mysqld", "/etc/mysql/my.cnf"), "[mysqld]\nskip\n", "[mysqld]\nskip = 1\n", id="a key without a value"),
        pytest.param(setting("C", "/etc/default/grub", value="quiet splash"), 'A=1\nC="quiet" # c\n', 'A=1\nC="quiet splash" # c\n', id="the quotes stay"),
        pytest.param(setting("C", "/etc/default/grub", value="quiet splash"), "A=1\nC=quiet # c\n", 'A=1\nC="quiet splash" # c\n', id="a shell needs quotes around several words"),
        pytest.param(setting("C", "/etc/default/grub", value="quiet splash"), "C=quiet splash\n", 'C="quiet splash"\n', id="without quotes, a shell would run the second word"),
        pytest.param(setting("C", "/etc/default/grub", value="quiet splash"), "C='quiet splash'\n", "C='quiet splash'\n", id="any quotes do"),
        pytest.param(setting("C", "/etc/default/a", value="-a $(date +%F)"), "", 'C="-a $(date +%F)"\n', id="what a shell expands is still expanded"),
        pytest.param(setting("C", "/etc/default/a", value="(a b)"), "", "C=(a b)\n", id="an array of a shell"),
        pytest.param(setting("C", "/etc/default/a", value='-a "b c"'), "", 'C=-a "b c"\n', id="quotes of the manifest are its own"),
        pytest.param(setting("C", "/etc/sysctl.d/a.conf", value="a b"), "", "C=a b\n", id="no shell reads sysctl.d"),
        pytest.param(setting("C", "/etc/default/grub", value="quiet"), "export C='quiet'\n", "export C='quiet'\n", id="as desired within quotes"),
        pytest.param(setting("C", "/etc/default/grub", value='a"b'), 'C="quiet"\n', 'C=a"b\n', id="a value with such a quote"),
        pytest.param(setting("vm.swappiness", "keyvalue", value=10), "# x\n-kernel.x = 1\n", "# x\n-kernel.x = 1\nvm.swappiness = 10\n", id="the delimiter of its neighbour"),
        pytest.param(setting("shared_buffers", "/var/lib/pgsql/data/postgresql.conf", value="256MB"), "shared_buffers = 128MB\t\t\t# min 128kB\n", "shared_buffers = 256MB\t\t\t# min 128kB\n", id="a comment of postgresql"),
        pytest.param(setting("PASS_MAX_DAYS", "/etc/login.defs", value=90), "# PASS_MAX_DAYS is\nPASS_MAX_DAYS\t99999\nX y", "# PASS_MAX_DAYS is\nPASS_MAX_DAYS\t90\nX y", id="a key and a value"),
        pytest.param(setting("hosts", "/etc/nsswitch.conf", value="files"), "passwd:  files\nhosts:   dns\n", "passwd:  files\nhosts:   files\n", id="a colon"),
        pytest.param(setting("A", "keyvalue", value=1), b"\xff\n\0 = 2\nA=2\r\n", b"\xff\n\0 = 2\nA=1\r\n", id="bytes that are no text"),
    ],
)  # fmt: skip
def test_one_key_of_a_file_of_lines_is_set_and_the_rest_stays(part, before, after):
    assert applied(part, before) == (after.encode() if isinstance(after, str) else after)


NETPLAN = "network:\n  version: 2\n  ethernets:\n    eth0: # first\n      dhcp4: true # yes\n      addresses:\n        - a\n        - b # c\n      mtu: 1\n# end\n"
PROJECT = '[project]\nname = "x" # n\n\n[tool.ruff]\n# c\nline-length = 88 # long\nselect = [\n  "a", # b\n]\n\n[tool.x]\na = 1\n'


@pytest.mark.parametrize(
    ("path", "key", "value", "before", "after"),
    [
        pytest.param("json", "log-opts.max-size", "10m", '{\n    "debug": true\n}\n', '{\n    "debug": true,\n    "log-opts": {\n        "max-size": "10m"\n    }\n}\n', id="JSON: its indent"),
        pytest.param("json", "a", 1, "", '{\n  "a": 1\n}\n', id="JSON: an empty file"),
        pytest.param("json", "a", 1, " {}", ' {\n "a": 1\n}' if False else ' {\n   "a": 1\n }', id="JSON: an empty object"),
        pytest.param("json", "b", [1], '{"a":1}', '{"a":1,"b":[1]}', id="JSON: in one line"),
        pytest.param("json", "b", None, '{"a": 1, "b": 2, "c": 3}', '{"a": 1, "b": null, "c": 3}', id="JSON: null"),
        pytest.param("json", "b", 1, '{"b": 1.0}', '{"b": 1}', id="JSON: types count"),
        pytest.param("json", "b", True, '{"b": 1}', '{"b": true}', id="JSON: true is not 1"),
        pytest.param("json", "a", 1, '{"é": "\\u00e9", "a":\r\n2}', '{"é": "\\u00e9", "a":\r\n1}', id="JSON: escapes stay"),
        pytest.param("json", "a.b", 1, '{\r\n\t// why, "a": {}\r\n\t"a": {},\r\n}\r\n', '{\r\n\t// why, "a": {}\r\n\t"a": {\r\n\t\t"b": 1\r\n\t},\r\n}\r\n', id="JSON: with comments"),
        pytest.param("json", ["a.b"], 1, '{"a": {"b": 2}}', '{"a": {"b": 2}, "a.b": 1}', id="JSON: a dot in a key"),
        pytest.param("toml", "tool.ruff.line-length", 110, PROJECT, PROJECT.replace("= 88", "= 110"), id="TOML: the comment stays"),
        pytest.param("toml", "tool.ruff.select", ["b"], PROJECT, PROJECT.replace('[\n  "a", # b\n]', '[\n    "b",\n]'), id="TOML: a long list"),
        pytest.param("toml", "tool.ruff.lint.select", ["ALL"], PROJECT, PROJECT.replace("[tool.x]", '[tool.ruff.lint]\nselect = ["ALL"]\n\n[tool.x]'), id="TOML: a new table beside the nearest"),
        pytest.param("toml", "project.version", "1", PROJECT, PROJECT.replace("# n\n", '# n\nversion = "1"\n'), id="TOML: in its table"),
        pytest.param("toml", "title", 'a"b', "# top\n\n# about\n[project]\n", '# top\n\ntitle = "a\\"b"\n\n# about\n[project]\n', id="TOML: before any table"),
        pytest.param("toml", "a.b", 1, "a.c = 2\n[x]\n", "a.c = 2\na.b = 1\n[x]\n", id="TOML: beside dotted keys"),
        pytest.param("toml", "a.b", 2, 'a = {b = 1, c = "}"}\r\n', 'a = { b = 2, c = "}" }\r\n', id="TOML: an inline table"),
        pytest.param("toml", "a", 1, "b = '''\n[a]\na = 2\n'''\n", "b = '''\n[a]\na = 2\n'''\na = 1\n", id="TOML: a string of several lines"),
        pytest.param("toml", "a.b", 1, "", "[a]\nb = 1\n", id="TOML: an empty file"),
        pytest.param("toml", "x", 1, "d = 1979-05-27 07:32:00Z # d\nx = 2", "d = 1979-05-27 07:32:00Z # d\nx = 1", id="TOML: behind a date"),
        pytest.param("yaml", "network.ethernets.eth0.dhcp4", False, NETPLAN, NETPLAN.replace("true", "false"), id="YAML: the comment stays"),
        pytest.param("yaml", "network.ethernets.eth0.addresses", ["d"], NETPLAN, NETPLAN.replace("- a\n        - b # c", "- d # c"), id="YAML: a block list"),
        pytest.param("yaml", "network.ethernets.eth1.dhcp4", True, NETPLAN, NETPLAN.replace("mtu: 1\n", "mtu: 1\n    eth1:\n      dhcp4: true\n"), id="YAML: a new key below"),
        pytest.param("yaml", "a.b", "no", "", "a:\n  b: 'no'\n", id="YAML: an empty file, a string like a boolean"),
        pytest.param("yaml", "a.b", 1, "# top\na:\n# end\nb: 2\n", "# top\na:\n  b: 1\n# end\nb: 2\n", id="YAML: where nothing is"),
        pytest.param("yaml", "a.b", 1, "a: {}\n", "a:\n  b: 1\n", id="YAML: an empty mapping"),
        pytest.param("yaml", "a.b", "y\nz", "a: {b: 1, c: ü}\nb: 2", 'a: {b: "y\\nz", c: ü}\nb: 2', id="YAML: in braces"),
        pytest.param("yaml", "b", 1, "a: |\n  x\n\n# end\r\n", "a: |\n  x\nb: 1\n\n# end\r\n", id="YAML: behind a text"),
        pytest.param("yaml", "a", [1], "a: 'x'   # why\nb: 1\n", "a: [1]   # why\nb: 1\n", id="YAML: a list in place of a string"),
        pytest.param("yaml", "a", "x", "a: # why\n  b: 1\nc: 1\n", "a: x  # why\nc: 1\n", id="YAML: a string in place of a mapping"),
        pytest.param("yaml", "a", "x", 'a: "y"\n', 'a: "x"\n', id="YAML: the quotes stay"),
        pytest.param("yaml", "on", 1, "on: 2\n", "on: 1\n", id="YAML: a key like a boolean"),
        pytest.param("yaml", "a", {"b": 1}, "a: # why\n- x\n- y\nc: 1\n", "a: # why\n  b: 1\nc: 1\n", id="YAML: a mapping in place of a list"),
        pytest.param("yaml", "a", True, "a: yes\n", "a: yes\n", id="YAML: yes is true"),
    ],
)  # fmt: skip
def test_one_key_of_a_file_of_values_is_set_and_the_rest_stays(path, key, value, before, after):
    part = setting("title", path, key=key, value=value)
    assert applied(part, before).decode() == after


@pytest.mark.parametrize(
    ("path", "key", "before", "after"),
    [
        ("json", "a", '{"a": 1, "b": 2}', '{"b": 2}'),
        ("json", "b", '{\n  "a": 1,\n  "b": 2\n}', '{\n  "a": 1\n}'),
        ("json", "a", '{"a": {"b": 1}}', "{}"),
        ("json", "a.x", '{"b": 1}', '{"b": 1}'),
        ("json", "a", "", ""),
        ("toml", "a.b", "[a]\nb = 1 # x\nc = 2\n", "[a]\nc = 2\n"),
        ("toml", "a.b", "a = {b = 1}\n", "a = {}\n"),
        ("yaml", "a", "a: 1\nb: 2\n", "b: 2\n"),
        ("yaml", "network.ethernets.eth0.addresses", NETPLAN, re.sub(r" *addresses:\n.*\n.*\n", "", NETPLAN)),
        ("yaml", "a.b", "a:\n  b: 1\nc: 2\n", "a: {}\nc: 2\n"),
        ("yaml", "a", "a: 1\n", ""),
        ("yaml", "b", "{a: 1, b: 2}", "{a: 1}"),
    ],
)
def test_a_key_is_removed(path, key, before, after):
    assert applied(setting("title", path, key=key, ensure="absent"), before).decode() == after


@pytest.mark.parametrize(
    ("path", "key", "content", "words"),
    [
        ("json", "a", '{"a": }', "is not JSON, at line 1, column 7"),
        ("json", "a", "[1]", "the top is not a mapping"),
        ("json", "a.b", '{"a": [1]}', "a is not a mapping, so it can't have the key b"),
        ("json", "a", '{"a": 2, "a": 3}', "has the key a twice"),
        ("json", "a", "[" * 100_000, "too many levels"),
        ("json", "a", "[" + "9" * 5000 + "]", "a number that is too long"),
        ("toml", "a", "a = ", "is not TOML"),
        ("toml", "a", "[a]\nb = 1\n", "a is a table with lines of its own"),
        ("toml", "a.b", "[[a]]\nb = 1\n", "a is not a mapping"),
        ("yaml", "a", "a: [", "is not YAML"),
        ("yaml", "a", "[" * 100_000, "has more than 100 levels"),
        ("yaml", "a", "- " * 100_000, "has more than 100 levels"),
        ("yaml", "a", "a: 2\n" + "#" * (1 << 20), "only files of up to 1024 can be parsed"),
        ("json", "a", "/*" * 100_000, "is not JSON"),
        ("json", "a", '"\\"' + '\\"' * 100_000, "is not JSON"),
        ("yaml", "a", "a: 2\na: 3\n", "the key a occurs twice in one mapping, on lines 1 and 2"),
        ("yaml", "a", "a: 1\n---\na: 1\n", "several YAML documents"),
        ("yaml", "b.c", "a: &x {c: 2}\nb: *x\n", "b is an alias of another value"),
        ("yaml", "a", "a: &x 2\nb: *x\n", "is not YAML"),
        ("yaml", "a", "a: !vault x\n", "can't be read"),
        ("yaml", "a", b"a: \xff\n", "is not YAML"),
    ],
)
def test_what_can_not_be_changed_alone_is_an_error_with_the_file_and_what_to_do(path, key, content, words):
    part = setting("title", path, key=key, value=1)
    with pytest.raises(ResourceError, match=re.escape(words)) as caught:
        applied(part, content)
    assert part.path in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("path", ["ini", "systemd", "sshd", "keyvalue"])
@pytest.mark.parametrize("text", ["a{}", "a = b{}", "a b{}", "[a{}", '"{}', "a{}=", ": {}:", "match{}"])
@pytest.mark.parametrize("filler", [" ", "\t \t", " #", ":", " :", "'", "\\"])
def test_no_line_takes_long(path, text, filler):
    section = "s" if path == "systemd" else None
    part = setting("wanted", path, value=1, section=section)
    with suppress(ResourceError):
        applied(part, text.format(filler * 100_000))


def test_a_value_that_git_needs_in_quotes_is_written_with_them():
    part = setting("url", "/root/.gitconfig", section="a", value='"https://example.com/#a"')
    wanted = b'[a]\n\turl = "https://example.com/#a"\n'
    assert applied(part, "[a]\n\turl = b\n") == wanted
    assert applied(part, wanted) == wanted


def test_a_yaml_bomb_takes_no_time():
    bomb = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40))
    assert applied(setting("wanted", "yaml", value=1), bomb) == f"{bomb}wanted: 1\n".encode()


@pytest.mark.parametrize(
    ("path", "properties", "words"),
    [
        ("/etc/unknown", {"value": 1}, "the format of /etc/unknown is not known"),
        ("ini", {}, "value is required"),
        ("ini", {"ensure": "absent", "value": 1}, "value is only valid with"),
        ("ini", {"value": None}, "a value of the format ini is a string"),
        ("ini", {"value": {"a": 1}}, "a value of the format ini is a string"),
        ("ini", {"value": []}, "the list is empty"),
        ("ini", {"value": "a\nb"}, "a value is one line"),
        ("ini", {"value": " a"}, "blanks around a value"),
        (
            "/etc/gitconfig",
            {"value": "https://example.com/#a"},
            "without quotes, git reads it as something else",
        ),
        (
            "/srv/a/.git/config",
            {"value": "!f() { git pull; }; f", "format": "ini"},
            "git reads it as something else",
        ),
        ("/root/.gitconfig", {"value": 'a "b" c'}, "git reads it as something else"),
        ("/root/.gitconfig", {"value": "C:\\a"}, "git reads it as something else"),
        ("ini", {"value": "a", "key": "[a"}, "would be read back as something else"),
        ("ini", {"value": "a", "key": ["a", "b"]}, "has one level"),
        ("ini", {"value": "a", "section": "a]"}, "is not the name of a section"),
        ("keyvalue", {"value": "a", "key": "a b"}, "would be read back as something else"),
        ("keyvalue", {"value": "a\\"}, "a backslash at the end"),
        ("keyvalue", {"value": "a", "section": "b"}, "has no sections"),
        ("systemd", {"value": "a"}, "section is required"),
        ("sshd", {"value": ""}, "a value of ssh is not empty"),
        ("sshd", {"value": "a", "section": "User git"}, "is not a block of ssh"),
        ("json", {"value": float("nan")}, "not a number"),
        ("json", {"value": {1: 2}}, "keys of a mapping are strings"),
        ("toml", {"value": None}, "TOML has no null"),
        ("toml", {"value": 1, "key": "a..b"}, "is not a key"),
        ("yaml", {"value": "\ud800"}, "can't be written as UTF-8"),
    ],
)
def test_contradictory_properties_are_an_error(path, properties, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        setting("a", path, **properties)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/etc/ssh/sshd_config", "sshd"),
        ("/etc/ssh/sshd_config.d/10-a.conf", "sshd"),
        ("/home/ada/.ssh/ssh_config", "sshd"),
        ("/etc/systemd/journald.conf", "systemd"),
        ("/etc/systemd/system/a.service.d/override.conf", "systemd"),
        ("/etc/systemd/network/10-a.network", "systemd"),
        ("/etc/php/8.2/fpm/php.ini", "ini"),
        ("/etc/mysql/my.cnf", "ini"),
        ("/etc/postgresql/15/main/postgresql.conf", "ini"),
        ("/etc/postgresql/15/main/conf.d/memory.conf", "ini"),
        ("/etc/postgresql/15/main/pg_hba.conf", None),
        ("/etc/fail2ban/jail.d/sshd.local", "ini"),
        ("/etc/sysctl.d/10-a.conf", "keyvalue"),
        ("/etc/sysctl.conf", "keyvalue"),
        ("/etc/default/grub", "keyvalue"),
        ("/etc/login.defs", "keyvalue"),
        ("/srv/app/.env", "keyvalue"),
        ("/etc/docker/daemon.json", "json"),
        ("/srv/pyproject.toml", "toml"),
        ("/etc/netplan/01-a.yaml", "yaml"),
        ("/etc/app.conf", None),
        ("/etc/motd", None),
    ],
)
def test_the_path_of_a_file_tells_its_format(path, name):
    assert format_of(path) == name
