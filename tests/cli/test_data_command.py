import json
import os

import pytest

SITE = """
hierarchy:
  order: ["role:${ lookup('facts.role', '') }", "os:${ lookup('facts.os', '') }"]
  merge: deep
data:
  # @require
  name: web
  web:
    port: 80 # @validate isInt(value)
    # @secret
    password: hunter2
  packages: [ca-certificates]
overrides:
  os:debian:
    web: {port: 8080}
    packages: [{name: apache2}]
  role:db: {name: db}
resources:
  - nonsense: [{x: 1}]
"""


@pytest.fixture
def site(manifest, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return manifest(SITE)


def test_the_data_are_resolved_for_these_facts(reactor, site):
    done = reactor("data", site, "--fact", "role=db", "--fact", "os=debian")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == {
        "name": "db",
        "web": {"port": 8080, "password": "[secret]"},
        "packages": ["ca-certificates", {"name": "apache2"}],
    }


def test_a_path_finds_one_value(reactor, site):
    assert json.loads(reactor("data", site, "web.port").out) == 80
    assert reactor("data", site, "name", "--format", "text").out == "web\n"


@pytest.mark.parametrize("command", ["data", "render"])
def test_an_infinity_is_null_in_json_which_has_none(reactor, manifest, command):
    file = manifest("data: {a: .inf, b: ['${ -7 / 0 }', .nan, 1]}\nresources: []\n")
    text = reactor(command, "--format", "json", file).out

    def refuse(name):
        pytest.fail(f"{name} is no JSON")

    found = json.loads(text, parse_constant=refuse)
    assert found.get("data", found) == {"a": None, "b": [None, None, 1]}
    assert ".inf" in reactor(command, "--format", "yaml", file).out


def test_each_value_can_report_its_layer(reactor, site, tmp_path):
    file = tmp_path / "more.yaml"
    file.write_text("packages: [nginx]\n")
    given = ("--fact", "os=debian", "--data-file", file, "--data", "web.tls=true")
    assert reactor("data", site, *given, "--explain", "--format", "text").out.splitlines() == [
        "name  web  # data",
        "web.port  8080  # overrides os:debian",
        "web.password  [secret]  # data",
        "web.tls  true  # the command line",
        "packages.0  ca-certificates  # data",
        'packages.1  {"name": "apache2"}  # overrides os:debian',
        "packages.2  nginx  # the command line",
    ]
    done = reactor("data", site, "web.port", *given, "--explain")
    assert json.loads(done.out) == {"value": 8080, "layer": "overrides os:debian"}


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("k=8080", 8080), ("k=1.5", 1.5), ("k=true", True), ("k=null", None), ("k=", None), ("k=on", "on"),
        ("k=0644", 644), ("k=0o644", 420), ("k=a=b", "a=b"),
    ],
)  # fmt: skip
def test_given_values_have_the_type_they_would_have_in_a_manifest(reactor, site, given, value):
    found = json.loads(reactor("data", site, "k", "--data", given).out)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("given", "warns"),
    [
        ("1.10", True),
        ("1.0", True),
        ("0644", True),
        ("1.5", False),
        ("8080", False),
        ("-3", False),
        ("true", False),
    ],
)
def test_a_given_version_that_is_read_as_another_number_is_told(reactor, site, given, warns):
    done = reactor("data", site, "k", "--data", f"k={given}")
    assert done.code == 0
    assert ("--data 'k=\"...\"'" in done.err) is warns
    assert given not in done.err
    assert json.loads(reactor("data", site, "k", "--data", f'k="{given}"').out) == given


def test_what_is_given_wins_over_the_file_that_is_given(reactor, site, tmp_path):
    file = tmp_path / "more.json"
    file.write_text('{"name": "file", "web": {"port": 1}}')
    given = ("--data-file", file, "--data", "name=given")
    assert json.loads(reactor("data", site, "{name,web.port}", *given).out) == {"name": "given", "port": 1}


def test_no_form_shows_a_secret(reactor, site):
    for form in ("text", "json", "yaml"):
        for path in ((), ("web",), ("web.password",), ("@tostr",)):
            for explain in ((), ("--explain",)):
                done = reactor("data", site, *path, *explain, "--format", form)
                assert done.code == 0
                assert "hunter2" not in done.out + done.err
    assert "swordfish" not in str(reactor("data", site, "--explain", "--data", "web.password=swordfish"))


def test_a_broken_promise_is_shown_where_it_was_made(reactor, site):
    done = reactor("data", site, "--data", "web.port=many")
    assert (done.code, done.out) == (2, "")
    assert f'{site}:9:14: error[R0116]: key "web.port" failed validation "isInt(value)"' in done.err


def test_an_annotation_that_means_nothing_is_a_warning(reactor, manifest):
    path = manifest("data:\n  a: 1 # @requird\nresources: []\n")
    done = reactor("data", path)
    assert (done.code, json.loads(done.out)) == (0, {"a": 1})
    assert done.err.startswith(f"warning: {path}:2:8: unknown annotation @requird; did you mean ")


def test_an_error_in_an_expression_is_shown_in_its_place(reactor, manifest):
    path = manifest('data:\n  a: "x ${ nope }"\nresources: []\n')
    done = reactor("data", path)
    assert done.code == 2
    assert f"{path}:2:12: error[R0302]: unknown name nope" in done.err


def test_what_the_data_can_not_hold_is_reported_once_and_breaks_no_promise(reactor, manifest):
    data = "data:\n  # @validate isIP(value)\n  a: !foo x\n  # @require\n  b: !bar y\n  c: [!foo z]\n"
    use = "resources: [{exec: [{a: {command: '/bin/echo {{ Data.a }} {{ Data.b }} {{ Data.c }}'}}]}]\n"
    done = reactor("validate", manifest(data + use), "--format", "json")
    assert done.code == 2
    found = done.records
    assert [(each["message"], each["line"], each["column"]) for each in found] == [
        ("unknown tag !foo", 3, 6), ("unknown tag !bar", 5, 6), ("unknown tag !foo", 6, 7),
    ]  # fmt: skip


def test_what_the_data_of_a_site_can_not_hold_breaks_no_promise_of_the_manifest(reactor, manifest, tmp_path):
    (tmp_path / "site-data.yaml").write_text("data: {a: !foo x}")
    path = manifest("data:\n  # @validate isIP(value)\n  a: 1.2.3.4\nresources: []\n")
    done = reactor("validate", path, "--hiera", tmp_path / "site-data.yaml")
    assert done.code == 2
    assert f"{tmp_path}/site-data.yaml:1:11: error[R0103]: unknown tag !foo" in done.err
    assert "1 error in 1 file" in done.err


def test_a_file_of_plain_values_that_is_passed_as_hiera_is_said_to_change_nothing(reactor, site, tmp_path):
    path = tmp_path / "site-data.yaml"
    path.write_text("web: {port: 1}\n")
    done = reactor("data", site, "--hiera", path)
    assert (
        f"warning: {path}:1:1: this file has neither 'data' nor 'overrides', so it changes nothing"
        in done.err
    )
    path.write_text("data: {web: {port: 1}}\n")
    assert "changes nothing" not in reactor("data", site, "--hiera", path).err


@pytest.mark.parametrize("option", ["--data-file", "--facts", "--hiera"])
def test_what_is_no_text_is_no_manifest_either_but_has_a_place(reactor, site, tmp_path, option):
    (tmp_path / "latin.yaml").write_bytes("data:\n  who: Zoë\n".encode("latin-1"))
    done = reactor("data", site, option, tmp_path / "latin.yaml")
    assert done.code == 2
    assert f"{tmp_path}/latin.yaml:2:10: error[R0102]: the " in done.err
    assert "is not UTF-8 text: byte 0xeb at offset 15" in done.err
    assert "manifest is not" not in done.err
    assert "hint: save the file as UTF-8" in done.err


def test_a_missing_key_is_an_error_with_the_nearest_one(reactor, site):
    done = reactor("data", site, "web.prt")
    assert done.code == 1
    assert "there is no key 'web.prt'\nhint: did you mean 'web.port'?" in done.err


def test_a_missing_manifest_or_file_is_bad_usage(reactor, site, tmp_path):
    assert reactor("data", tmp_path / "missing.yaml").code == 2
    done = reactor("data", site, "--data-file", tmp_path / "missing.yaml")
    assert done.code == 2
    assert reactor("data", site, "--data", "x").code == 2


SECRETS = """
data:
  plain: common-1
  users:
    - name: ada
      # @secret
      password: hunter-1
    - plain-item
  # a list of texts
  tokens:
    - hunter-2 # @secret
  more:
    inner:
      # @secret
      - hunter-3
  flow: [{{a: hunter-4}}, # @secret
    ordinary]
overrides:
  default:
    plain: over # @require
    given: hunter-5 # @secret
  # @secret
  role:db:
    whole: {{inner: hunter-6}}
resources:
  - exec:
      - say: {{ command: "echo {{{{ Data.users[0].password }}}}" }}
      # @secret
      - "true": {{}}
""".replace("{{", "{").replace("}}", "}")


@pytest.mark.parametrize("option", [None, "--hiera"])
def test_secrets_hold_within_lists_and_in_overrides_and_an_ignored_reader_is_told(reactor, manifest, option):
    site = manifest(SECRETS.replace("default:", "role:web:").replace("data:", HIERARCHY, 1), "site.yaml")
    empty = manifest("data: {}\n", "empty.yaml")
    words = (site,) if option is None else (empty, option, site)
    for role in ("web", "db"):
        done = reactor("data", *words, "--fact", f"role={role}")
        assert done.code == 0, done.err
        assert "hunter" not in done.out
        assert json.loads(done.out)["users"] == json.loads(done.out)["flow"] == "[secret]"
        assert "common-1" in done.out or role == "web"
    lines = ["", *site.read_text().splitlines()]
    places = [
        f":{number}:{line.index('#') + 1}: the annotation {line.split()[-1]} is ignored here"
        for number, line in enumerate(lines)
        if "over # @require" in line or ("# @secret" in line and "- exec:" in lines[number - 2])
    ]
    assert [line.partition("site.yaml")[2].partition(";")[0] for line in done.err.splitlines()] == places
    assert len(places) == 2


HIERARCHY = "hierarchy: {order: ['role:${ Facts.role }']}\ndata:"


def test_a_secret_of_a_data_file_is_one(reactor, manifest):
    site = manifest("data: {name: x}\nresources: [{exec: ['echo {{ Data.token }}': {}]}]\n", "site.yaml")
    given = manifest(
        "token: hunter-1 # @secret\nlist:\n  - a: hunter-2 # @secret\nport: 5 # @require\nplain: y\n",
        "given.yaml",
    )
    done = reactor("data", site, "--data-file", given, "--data", "token=hunter-3")
    assert json.loads(done.out) == {
        "name": "x", "token": "[secret]", "list": "[secret]", "port": 5, "plain": "y",
    }  # fmt: skip
    assert "given.yaml:4:9: the annotation @require is ignored here" in done.err
    refused = reactor("validate", site, "--data-file", given)
    assert refused.code == 2
    assert "hunter" not in refused.out + refused.err


def test_the_data_file_may_be_a_pipe(reactor, site, tmp_path):
    read, write = os.pipe()
    os.write(write, b"token: hunter-1 # @secret\n")
    os.close(write)
    done = reactor("data", site, "token", "--data-file", f"/dev/fd/{read}")
    os.close(read)
    assert (done.code, json.loads(done.out)) == (0, "[secret]")


def test_a_time_in_the_data_is_its_text_for_everybody(reactor, manifest):
    moment = "2024-01-31 00:00:00 +0000 UTC"
    site = manifest(
        "data:\n  at: \"{{ date('2024-01-31') }}\"\n  for: [\"{{ duration('90m') }}\"]\n"
        "resources: [{exec: ['echo {{ lookup(\"data.at\") }}': {meta: {timeout: '{{ duration(\"1h\") }}'}}]}]\n"
    )
    for form in ("json", "yaml"):
        done = reactor("data", site, "--format", form)
        assert done.code == 0
        assert moment in done.out
        assert "1h30m0s" in done.out
    assert f"echo {moment}" in reactor("render", site).out


@pytest.mark.parametrize("form", ["text", "json", "yaml"])
@pytest.mark.parametrize("words", [(), ("--explain",)])
def test_an_alias_takes_no_secret_into_the_open(reactor, manifest, form, words):
    data = "  pin: &pin hunter-1 # @secret\n  all: &all [hunter-2] # @secret\n  b: *pin\n  c: {d: *all}\n"
    done = reactor("data", manifest(f"data:\n{data}"), "--format", form, *words)
    assert done.code == 0, done.err
    assert "hunter" not in done.out
    assert done.out.count("secret") == 4


def test_a_map_that_is_secret_does_not_make_secrets_of_its_keys(reactor, manifest):
    data = "data:\n  # @secret\n  access: {user: admin-1, password: hunter-1}\n"
    site = manifest(
        f"{data}resources: [{{user: [a: {{pasword: x, comment: '{{{{ Data.access.usr.x }}}}'}}]}}]\n"
    )
    done = reactor("validate", site)
    assert "user has no property 'pasword'" in done.err
    assert "hint: did you mean 'password'?" in done.err
    assert "hunter" not in done.err + reactor("data", site).out


def test_a_secret_within_a_list_does_not_make_a_secret_of_the_keys(reactor, manifest):
    site = manifest(
        "data: {\n  users: [{name: ada, password: hunter-1}] # @secret\n}\n"
        "resources: [{exec: ['echo {{ Data.users[0].password }}': {}]}]\n"
    )
    done = reactor("validate", site)
    assert "the name of a resource is shown everywhere" in done.err
    assert "hunter" not in done.out + done.err


def test_data_alone_may_be_of_either_form_so_what_they_miss_is_a_warning(reactor, manifest):
    done = reactor(
        "data", manifest("hierarchy: {order: [\"role:${ lookup('facts.rloe') }\"]}\ndata: {a: 1}\n")
    )
    assert (done.code, json.loads(done.out)) == (0, {"a": 1})
    assert "manifest.yaml:1:" in done.err
    assert "missing key 'facts.rloe'" in done.err
