"""Inventories, host patterns and waves, as Ansible's users know them; mistakes have a place."""

import io

import pytest
import trio

from reactor.fleet.push.errors import InventoryError
from reactor.fleet.push.inventory import hosts_in, hosts_named, inventory_of
from reactor.fleet.push.inventory_builder import expanded
from reactor.fleet.push.outcome import Outcome, Status, exit_code
from reactor.fleet.push.patterns import select
from reactor.fleet.push.request import Request
from reactor.fleet.push.waves import Amount, exceeds, parse_serial, waves

INI = """\
; before any section
lonely ansible_port=2222

[web]
web[01:03] ansible_user=deploy   # three of them
web9:2200 colour="dark red"

[db]
db-[a:c].example.org

[eu:children]
web
db

[eu:vars]
region=eu
colour=green

[web:vars]
colour=blue
tags=['a', 'b']

[all:vars]
region=none
ansible_ssh_private_key_file=~/.ssh/site
"""

YAML = """\
all:
  vars: {region: none, ansible_ssh_private_key_file: ~/.ssh/site}
  hosts:
    lonely: {ansible_port: 2222}
  children:
    eu:
      vars: {region: eu, colour: green}
      children:
        web:
          vars: {colour: blue, tags: [a, b]}
          hosts:
            web[01:03]: {ansible_user: deploy}
            web9: {ansible_port: 2200, colour: dark red}
        db:
          hosts:
            db-[a:c].example.org:
"""


@pytest.fixture(params=[(INI, "hosts.ini"), (YAML, "hosts.yaml"), (INI, "hosts"), (YAML, "hosts")])
def hosts(request):
    return hosts_in(*request.param)


def names(hosts):
    return [host.name for host in hosts]


def test_ini_and_yaml_say_the_same(hosts):
    found = {host.name: host for host in hosts}
    assert set(found) == {
        "lonely",
        "web01",
        "web02",
        "web03",
        "web9",
        *(f"db-{x}.example.org" for x in "abc"),
    }
    assert found["lonely"].port == 2222
    assert found["lonely"].groups == ()
    assert found["lonely"].variables == {"region": "none"}
    assert found["web01"].user == "deploy"
    assert found["web01"].key == "~/.ssh/site"
    assert found["web01"].groups == ("eu", "web")
    assert found["web01"].variables == {"region": "eu", "colour": "blue", "tags": ["a", "b"]}
    assert found["web9"].port == 2200
    assert found["web9"].variables["colour"] == "dark red"
    assert found["db-a.example.org"].variables == {"region": "eu", "colour": "green"}
    assert found["web9"].facts()["fleet"]["name"] == "web9"


def test_the_output_of_a_command_and_a_plain_list_are_inventories():
    text = '{"web": {"hosts": ["w1", "w2"], "vars": {"a": 1}}, "eu": {"children": ["web"]}, "_meta": {"hostvars": {"w1": {"b": 2}}}}'
    found = hosts_in(text, "command")
    assert names(found) == ["w1", "w2"]
    assert found[0].variables == {"a": 1, "b": 2}
    assert found[0].groups == ("eu", "web")
    assert names(hosts_in("# all\nw1\nw2 \n\n", "list")) == ["w1", "w2"]
    assert names(trio.run(inventory_of, "printf 'w1\\nw2\\n'")) == ["w1", "w2"]
    for command, said in (
        ("a 'b", "no closing"),
        (" ", "is empty"),
        ("false", "exit code 1"),
        ("/nonexistent/x", "can't run"),
    ):
        with pytest.raises(InventoryError, match=said):
            trio.run(inventory_of, command)


def test_the_command_line_names_hosts_with_user_port_and_ranges():
    found = hosts_named(["web1", "ann@web2:2222,db[1:2]"])
    assert names(found) == ["web1", "web2", "db1", "db2"]
    assert (found[1].user, found[1].port, found[1].address) == ("ann", 2222, "web2")


@pytest.mark.parametrize(
    ("found", "name", "port"),
    [
        (hosts_named(["[::1]:2222"]), "::1", 2222),
        (hosts_named(["[fe80::1%eth0]"]), "fe80::1%eth0", None),
        (hosts_named(["2001:db8::22"]), "2001:db8::22", None),
        (hosts_in("web: {hosts: {'w1:2222': }}\n", "h.yaml"), "w1", 2222),
        (hosts_in("web: {hosts: {'[::1]:2222': }}\n", "h.yaml"), "::1", 2222),
        (hosts_in("w1:2222 ansible_port=22\n", "h.ini"), "w1", 22),
    ],
)
def test_a_port_may_be_behind_a_name_or_an_address(found, name, port):
    assert [(host.name, host.address, host.port) for host in found] == [(name, name, port)]


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("w1 p='{(1, 2): 3}'\n", "h.ini"),
        ("web: {hosts: {w1: {p: [{2020-01-01: !!set {a}}]}}}\n", "h.yaml"),
        ("w1 p=1e999\n", "h.ini"),
    ],
)
def test_every_value_can_be_sent_to_the_host(text, file):
    [host] = hosts_in(text, file)
    line = Request(None, 0, host.facts()).line()
    assert list(Request.read(io.BytesIO(line)).facts["fleet"]["vars"]) == ["p"]


def test_groups_with_many_ways_between_them_take_no_time():
    levels = [
        f"[{side}{level}:children]\na{level + 1}\nb{level + 1}\n" for level in range(60) for side in "ab"
    ]
    [host] = hosts_in("[a60]\nw1\n[b60]\n" + "".join(levels), "h.ini")
    assert len(host.groups) == 121


def test_a_group_that_is_below_itself_is_named():
    with pytest.raises(InventoryError, match=r"the group '[bc]' is below itself") as caught:
        hosts_in("[a:children]\nb\n[b:children]\nc\n[c:children]\nb\nd\n[d]\nw1\n", "h.ini")
    assert caught.value.place.line in (4, 6)


@pytest.mark.parametrize(
    ("text", "file", "place"),
    [
        ("[web\nw1\n", "h.ini", "h.ini:1:1"),
        ("gw:2201\ngw:2202\n", "h.ini", "h.ini:2:1"),
        ("[web:hosts]\n", "h.ini", "h.ini:1:1"),
        ("w1\n  w2 oops\n", "h.ini", "h.ini:2:6"),
        ("w1 a='b\n", "h.ini", "h.ini:1:1"),
        ("w[1:\n", "h.ini", "h.ini:1:1"),
        ("w[5:1]\n", "h.ini", "h.ini:1:1"),
        ("w[0:999999999]\n", "h.ini", "h.ini:1:1"),
        ("w[0:9999].[0:9999].[0:9999]\n", "h.ini", "h.ini:1:1"),
        ("w1\n-oProxyCommand=id\n", "h.ini", "h.ini:2:1"),
        ("w1 ansible_port=0\n", "h.ini", "h.ini:1:1"),
        ("w1 ansible_user=-l\n", "h.ini", "h.ini:1:1"),
        ("[web:vars]\nnothing\n", "h.ini", "h.ini:2:1"),
        ("[a:children]\nb\n[b:children]\na\n", "h.ini", "h.ini:"),
        ("[web:children]\nwbe\n[db]\nw1\n", "h.ini", "h.ini:2:1"),
        ("[wbe:vars]\na=1\n[web]\nw1\n", "h.ini", "h.ini:1:1"),
        ("w[A:z]\n", "h.ini", "h.ini:1:1"),
        ("web: {hosts: {w1: {p: !!bool x}}}\n", "h.yaml", "h.yaml:1:19"),
        ("web: {hosts: {w1: {p: !!int ''}}}\n", "h.yaml", "h.yaml:1:19"),
        ("web: {hosts: {w1: {p: !!timestamp x}}}\n", "h.yaml", "h.yaml:1:19"),
        ('{"web": {"hosts": [""]}, "_meta": {"hostvars": {"": {"ansible_host": "w1"}}}}', "h", "h:1:1"),
        (
            '{"web": ["a\\u0007b"], "_meta": {"hostvars": {"a\\u0007b": {"ansible_host": "w1"}}}}',
            "h",
            "h:1:1",
        ),
        ("web:\n  host:\n    w1:\n", "h.yaml", "h.yaml:2:3"),
        ("web:\n  hosts: [w1]\n", "h.yaml", "h.yaml:2:10"),
        ("web: {hosts: {w1: {p: !vault x}}}\n", "h.yaml", "h.yaml:1:23"),
        (
            "web: {hosts: {w1: !!python/object/apply:os.system ['touch /tmp/owned']}}\n",
            "h.yaml",
            "h.yaml:1:19",
        ),
        ("web: &a {children: {x: *a}}\n", "h.yaml", "h.yaml:"),
        ("a: [\n", "h.yaml", "h.yaml:2:1"),
        ("web: " + "[" * 3000, "h.yaml", "h.yaml:"),
        ('{"web": 3}', "h", "h:1:1"),
        ('{"web": {"hosts": "w1"}}', "h", "h:1:1"),
        ('{"web": ', "h", "h:1:9"),
    ],
)
def test_a_mistake_has_a_place(text, file, place):
    with pytest.raises(InventoryError) as caught:
        hosts_in(text, file)
    assert str(caught.value.place).startswith(place), caught.value
    assert caught.value.code == "R0803"


def test_a_bomb_of_aliases_is_refused():
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    with pytest.raises(InventoryError, match="too large"):
        hosts_in("\n".join(lines), "h.yaml")


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("all", 8),
        ("web", 4),
        ("web:!web02", 3),
        ("eu:&web", 4),
        ("web,lonely", 5),
        ("web:db", 7),
        ("web0*", 3),
        ("*.example.org", 3),
        ("~web0[12]", 2),
        ("web[0]", 1),
        ("web[1:2]", 2),
        ("web[1:]", 3),
        ("web[-1]", 1),
        ("all:!eu", 1),
        ("ungrouped", 1),
        ("!web", 4),
    ],
)
def test_patterns_select_as_those_of_ansible(hosts, pattern, wanted):
    assert len(select(hosts, pattern)) == wanted


@pytest.mark.parametrize("pattern", ["", ",", f"nope[{'9' * 5000}]", "wbe", "web[9]", "~(", "web:!nothing"])
def test_a_pattern_that_matches_nothing_is_an_error(hosts, pattern):
    with pytest.raises(InventoryError):
        select(hosts, pattern)


def test_ranges_are_those_of_ansible():
    assert expanded("w[08:10]") == ["w08", "w09", "w10"]
    assert expanded("w[1:5:2]-[a:b]") == ["w1-a", "w1-b", "w3-a", "w3-b", "w5-a", "w5-b"]
    assert expanded("w[y:B]") == ["wy", "wz", "wA", "wB"]
    assert expanded("plain") == ["plain"]


def test_waves_are_those_of_serial():
    hosts = list(range(20))
    assert [len(wave) for wave in waves(hosts, parse_serial("1,10%,100%"))] == [1, 2, 17]
    assert [len(wave) for wave in waves(hosts, parse_serial("8"))] == [8, 8, 4]
    assert [len(wave) for wave in waves(hosts, ())] == [20]
    assert [len(wave) for wave in waves([1], parse_serial("10%"))] == [1]
    for text in ("0", "", "x", "101%", "1,,2", "-1"):
        with pytest.raises(ValueError, match=r"wave|hosts"):
            parse_serial(text)


def test_the_most_that_may_fail_is_of_those_that_were_tried():
    assert exceeds(1, Amount.parse("0"), 1)
    assert exceeds(1, Amount.parse("5%"), 1)
    assert not exceeds(1, Amount.parse("5%"), 20)
    assert not exceeds(2, Amount.parse("2"), 20)


def test_the_worst_outcome_of_a_host_decides_the_exit_code():
    def code(*found):
        return exit_code([Outcome("h", status) for status in found])

    assert code(Status.OK, Status.CHANGED, Status.WOULD_CHANGE) == 0
    assert code(Status.OK, Status.MISSING) == 4
    assert code(Status.UNREACHABLE, Status.MISSING) == 3
    assert code(Status.UNREACHABLE, Status.MISSING, Status.REJECTED) == 1
    assert code(Status.UNREACHABLE, Status.NOT_TRIED) == 3


def test_two_hosts_behind_one_address_are_not_taken_for_one():
    with pytest.raises(InventoryError, match="gw is here with the ports 2201 and 2202") as caught:
        hosts_named(["gw:2201", "gw:2202"])
    assert "ansible_port" in caught.value.hint
    assert [host.port for host in hosts_named(["gw:2201", "gw:2201"])] == [2201]
