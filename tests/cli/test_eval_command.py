"""``reactor eval``: the value of an expression."""

import json

import pytest


@pytest.fixture
def site(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text("data:\n  web: {port: 80}\n  # @secret\n  word: hunter26\nresources: []\n")
    return str(path)


def test_an_expression_sees_facts_and_the_data_of_the_manifest(reactor, site):
    assert json.loads(reactor("eval", "Data.web.port + 1", "--manifest", site).out) == 81
    assert json.loads(reactor("eval", "Facts.role", "--fact", "role=db").out) == "db"
    assert json.loads(reactor("eval", "Data.a", "--data", "a=1").out) == 1


def test_a_string_with_expressions_is_a_template(reactor, site):
    assert json.loads(reactor("eval", "port {{ Data.web.port }}", "-m", site).out) == "port 80"


def test_files_are_beside_the_manifest(reactor, site, tmp_path):
    (tmp_path / "motd").write_text("hello")
    assert json.loads(reactor("eval", "file('motd')", "-m", site).out) == "hello"


@pytest.mark.parametrize("expression", ["'x' + Data.word", "upper(Data.word)", "[Data.word[0:6]]"])
def test_a_secret_and_what_is_made_of_it_is_masked(reactor, site, expression):
    done = reactor("eval", expression, "-m", site)
    assert "hunter" not in (done.out + done.err).lower()
    assert "[secret]" in done.out


def test_an_error_shows_its_place_in_the_expression(reactor, site):
    done = reactor("eval", "Data.wep.port", "-m", site)
    assert done.code == 1
    assert (
        "EXPRESSION:1:6: error[R0304]: Data has no key 'wep'\n  1 | Data.wep.port\n    |      ^\n" in done.err
    )
    assert done.out == ""


def test_invalid_data_are_bad_usage(reactor, tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("data: [1]\nresources: []\n")
    done = reactor("eval", "1", "-m", str(path))
    assert done.code == 2
    assert "data must be a map" in done.err
