"""What touched a secret is one; what did not, is none."""

import random

import pytest
from random_expressions import DATA as DATA_OF_RANDOM
from random_expressions import Writer

from reactor.language.errors import ExpressionError, FunctionError
from reactor.language.expression import parse_expression, parse_template
from reactor.language.expression.scope import Scope, TextMap
from reactor.language.secrets import SecretText

DATA = {
    "db": {"user": "ann", "password": "s3cret", "pin": 4711},
    "port": 8080,
    "key": "password",
    "url": SecretText("http://s3cret@host"),
    "list": ["a", SecretText("s3cret")],
}
SCOPE = Scope(
    {"Data": DATA},
    {"secret": lambda name: SecretText(f"s3cret {name}"), "echo": len},
    secrets=frozenset({("Data", "db", "password"), ("Data", "db", "pin")}),
)

TAINTED = [
    "Data.db.password", "Data.db.password + 'x'", "upper(Data.db.password)", "len(Data.db.password)", "Data.db.pin + 1",
    "Data.db", "Data", "$env", "toJSON(Data)", "keys(Data.db)", "values(Data.db)[0]", "Data['db']['password']",
    "Data.db[Data.key]", "Data[Data.key]?.password", "let d = Data; d.db.password", "lookup('data.db.password')",
    "lookup('data.db')", "lookup('data.*.password')", "lookup('data.' + 'db.password')", "lookup('@this')",
    "$env.Data.db.password", "$env['Data'].db", "Data.db.password == 'x' ? 'a' : 'b'", "map([Data.db], .user)",
    "Data.url", "'x' + Data.url", "Data.list", "Data.list[1]", "last(Data.list)", "join(Data.list)",
    "map(Data.list, #)", "Data.list[1:]", "string(Data.list)", "Data.list == ['a', 'b'] ? 1 : 2", "'s3cret' in Data.list ? 1 : 2",
    "secret('x')", "secret('x') | len()", "lookup('data.url')", "lookup('data.list.@tostr')",
    "lookup('data.list.#(==\"s3cret\")')", "reduce(Data.list, #acc + #)", "toBase64(Data.db.password)",
    "{a: Data.list}", "find(Data.list, # != 'a') | len()", "find(Data.list, #index == 1) | len()", "echo(Data.list)",
    "reduce([Data.url, 'a'], len(#acc))", "first(reverse(Data.list))", "lookup('data.{db,port}').db",
]  # fmt: skip
CLEAN = [
    "Data.db.user", "Data.port", "Data['port']", "Data.db?.user", "lookup('data.port')", "lookup('data.db.user')",
    "Data.list[0]", "len(Data.list)", "'port' in {'port': 1}", "Data.nope ?? 1", "Data.key + 'x'", "1 + 1",
]  # fmt: skip


@pytest.mark.parametrize("source", TAINTED)
def test_what_touched_a_secret_renders_as_one(source):
    assert type(parse_template(f"a {{{{ {source} }}}} b").render(SCOPE)) is SecretText
    assert type(parse_template(f"a {{{{ {source} }}}} b").match(SCOPE)[0]) is SecretText


@pytest.mark.parametrize("source", CLEAN)
def test_what_touched_no_secret_renders_as_text(source):
    assert type(parse_template(f"a {{{{ {source} }}}} b").render(SCOPE)) is str


def test_one_secret_taints_the_whole_text_around_it():
    assert (
        type(parse_template("{{ Data.port }} {{ Data.db.password }} {{ Data.port }}").render(SCOPE))
        is SecretText
    )


def test_a_secret_value_is_marked_in_every_leaf():
    value = parse_template("{{ [Data.db.password, Data.db.pin, true, {a: Data.port}] }}").value(SCOPE)
    assert value == ["s3cret", "4711", True, {"a": "8080"}]
    assert [type(value[0]), type(value[1]), type(value[3]["a"])] == [SecretText] * 3


def test_a_condition_on_a_secret_stays_a_bool():
    assert parse_expression("Data.db.password == 's3cret'").evaluate(SCOPE) is True


@pytest.mark.parametrize(
    "source",
    ["int(Data.db.password)", "date(Data.url)", "lookup(Data.db.password)", "Data.db.user[Data.db.password]",
     "fromJSON(secret('x'))", "fail(Data.db.password)"],
)  # fmt: skip
def test_an_error_never_quotes_a_secret(source):
    def fail(value):
        raise FunctionError(f"bad value {value}", f"not {value}")

    scope = Scope(SCOPE.names, {**SCOPE.functions, "fail": fail}, secrets=SCOPE.secrets)
    text = f"a {{{{ {source} }}}}"
    with pytest.raises(ExpressionError) as caught:
        parse_template(text).render(scope)
    error = caught.value
    assert "s3cret" not in f"{error!r} {error} {error.message} {error.hint}"
    assert error.__cause__ is None
    assert error.__context__ is None
    assert 5 <= error.start < error.end <= len(text), "the place is still told"


@pytest.mark.parametrize(
    "source", ["{{ Data.url }} {{ Dat.x }}", "${ Data.url + Dat.x }", "{{ Dat.x }}{{ Data.url }}"]
)
def test_a_name_that_no_one_knows_is_reported_also_beside_a_secret(source):
    for evaluate in (
        parse_template(source).render,
        parse_template(source).value,
        parse_template(source).match,
    ):
        with pytest.raises(ExpressionError, match="unknown name Dat") as caught:
            evaluate(SCOPE)
        assert caught.value.hint == "did you mean Data?"
        assert source[caught.value.start : caught.value.end] == "Dat"


def test_the_representation_of_a_secret_is_not_the_secret():
    assert repr(SecretText("s3cret")) == "<secret>"
    assert f"{[SecretText('s3cret')]}" == "[<secret>]"


def outcome(source, world):
    """The text of ``source``, or what its error says; and whether a secret was told to be in it."""
    try:
        shown = parse_template(f"${{ {source} }}").render(world)
    except ExpressionError as error:
        return error.message, "touched a secret" in error.message
    return str(shown), type(shown) is SecretText


def world_with(word, number):
    """The world of random expressions with two secrets in values, and two by their paths."""
    data = {**DATA_OF_RANDOM, "name": SecretText(word), "port": number, "words": ["b", SecretText(word), "c"]}
    data["map"] = {"k": word, "n": {"z": 9}}
    names = {"Data": data, "Facts": {"os": "linux"}, "Environ": TextMap({"HOME": "/root"})}
    secrets = frozenset({("Data", "port"), ("Data", "map", "k")})
    return Scope(names, {"echo": lambda value: value}, secrets=secrets, steps=10_000)


@pytest.mark.parametrize("seed", range(3))
def test_a_result_that_depends_on_a_secret_is_one(seed):
    """Two worlds that differ in nothing but secrets: whoever can tell them apart has been tainted."""
    writer, worlds = Writer(random.Random(seed)), (world_with("web", 8080), world_with("other", -3))
    told_apart = 0
    for _ in range(1000):
        source = writer.expression(writer.rng.randint(1, 4))
        if "now(" in source:
            continue
        (one, one_tainted), (other, other_tainted) = (outcome(source, world) for world in worlds)
        if one != other:
            told_apart += 1
            assert one_tainted, source
            assert other_tainted, source
    assert told_apart > 5
