import json

import pytest

SITE = """
hierarchy:
  order: ["role:${ lookup('facts.role') }", "os:${ lookup('facts.os') }"]
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
        "web": {"port": 8080, "password": "<secret>"},
        "packages": ["ca-certificates", {"name": "apache2"}],
    }


def test_a_path_finds_one_value(reactor, site):
    assert json.loads(reactor("data", site, "web.port").out) == 80
    assert reactor("data", site, "name", "--format", "text").out == "web\n"


def test_each_value_can_tell_its_layer(reactor, site, tmp_path):
    file = tmp_path / "more.yaml"
    file.write_text("packages: [nginx]\n")
    given = ("--fact", "os=debian", "--data-file", file, "--data", "web.tls=true")
    assert reactor("data", site, *given, "--explain", "--format", "text").out.splitlines() == [
        "name  web  # data",
        "web.port  8080  # overrides os:debian",
        "web.password  <secret>  # data",
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
    assert f'{site}:9:14: error: key "web.port" failed validation "isInt(value)"' in done.err


def test_an_annotation_that_means_nothing_is_a_warning(reactor, manifest):
    path = manifest("data:\n  a: 1 # @requird\nresources: []\n")
    done = reactor("data", path)
    assert (done.code, json.loads(done.out)) == (0, {"a": 1})
    assert done.err.startswith(f"warning: {path}:2:8: unknown annotation @requird; did you mean ")


def test_an_error_in_an_expression_is_shown_in_its_place(reactor, manifest):
    path = manifest('data:\n  a: "x ${ nope }"\nresources: []\n')
    done = reactor("data", path)
    assert done.code == 2
    assert f"{path}:2:12: error: unknown name nope" in done.err


def test_a_missing_key_is_an_error_with_the_nearest_one(reactor, site):
    done = reactor("data", site, "web.prt")
    assert done.code == 1
    assert "there is no key 'web.prt'; did you mean 'web.port'?" in done.err


def test_a_missing_manifest_or_file_is_bad_usage(reactor, site, tmp_path):
    assert reactor("data", tmp_path / "missing.yaml").code == 2
    done = reactor("data", site, "--data-file", tmp_path / "missing.yaml")
    assert done.code == 2
    assert reactor("data", site, "--data", "x").code == 2
