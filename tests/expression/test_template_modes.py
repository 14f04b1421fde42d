"""What a text with expressions becomes: a text, a value, a match; and what can be known of it without running it."""

import pytest

from reactor.language.errors import ExpressionError, FunctionError
from reactor.language.expression import parse_expression, parse_template
from reactor.language.expression.expression import cached_expression as cached
from reactor.language.expression.scope import Scope, TextMap

DATA = {"port": 8080, "list": [1, 2], "map": {"k": "v", "n": {"z": 9}}, "none": None, "empty": "", "on": True}
SCOPE = Scope({"Data": DATA, "Facts": {"os": "linux"}, "Environ": TextMap({"HOME": "/root"})})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ Data.port }}", "8080"),
        ("a {{ Data.port }} b ${ Facts.os } c", "a 8080 b linux c"),
        ("{{ Data.none }}", "<nil>"),
        ("{{ Data.list }}", "[1 2]"),
        ("{{ Data.map }}", "map[k:v n:map[z:9]]"),
        ("{{ Data.on }}", "true"),
        ("{{ 1.0 }} {{ 0.5 }} {{ 1e21 }} {{ 1000000.0 }}", "1 0.5 1e+21 1e+06"),
        ("{{ [nil, [], {}] }}", "[<nil> [] map[]]"),
        ("{{ Environ.NOPE }}", ""),
        ("{{ '{{ Data.port }}' }}", "{{ Data.port }}"),
    ],
)
def test_in_a_text_every_value_becomes_the_text_that_go_prints(text, expected):
    assert parse_template(text).render(SCOPE) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ Data.port }}", 8080),
        ("  {{ Data.port }}\n", 8080),
        ("{{ Data.list }}", [1, 2]),
        ("{{ Data.none }}", None),
        ("{{ Data.on }}", True),
        ("${ Data.map.n }", {"z": 9}),
        ("{{ Data.port }}x", "8080x"),
        ("{{ Data.port }}{{ Data.port }}", "80808080"),
        ("{{ Data.port }} {{ Data.port }}", "8080 8080"),
    ],
)
def test_a_text_that_is_exactly_one_expression_keeps_its_type(text, expected):
    value = parse_template(text).value(SCOPE)
    assert value == expected
    assert type(value) is type(expected)


def test_a_value_shares_nothing_with_the_roots():
    value = parse_template("{{ Data.map }}").value(SCOPE)
    value["n"]["z"] = 10
    assert DATA["map"]["n"]["z"] == 9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("role:{{ Facts.os }}", ("role:linux", True)),
        ("role:{{ Data.empty }}", ("role:", False)),
        ("role:{{ Data.none }}", ("role:<nil>", False)),
        ("r:{{ Data.empty }}:{{ Facts.os }}", ("r::linux", True)),
        ("{{ Data.on }}", ("true", True)),
        ("{{ false }}", ("false", True)),
    ],
)
def test_an_entry_matches_when_any_expression_gave_something(text, expected):
    assert parse_template(text).match(SCOPE) == expected


def test_lookup_of_a_missing_key_can_be_an_empty_text():
    scope = Scope({"Facts": {}}, missing="empty")
    assert parse_template("role:${ lookup('facts.role') }").match(scope) == ("role:", False)


def test_an_expression_is_parsed_once_however_many_texts_hold_it():
    cached.cache_clear()
    for number in range(100):
        parse_template(f"{number} {{{{ Data.port }}}}").render(SCOPE)
    assert cached.cache_info().misses == 1


def test_calls_are_found_without_running_anything():
    text = 'a {{ output("exec#v").stdout }} b ${ [output(Data.x), "c" | output()] | len() }'
    calls = parse_template(text).calls("output")
    assert [call.argument for call in calls] == ["exec#v", None, "c"]
    assert [text[call.start : call.end] for call in calls] == [
        'output("exec#v")',
        "output(Data.x)",
        '"c" | output()',
    ]
    assert parse_expression("output('x') != nil").calls("output")[0].argument == "x"


def test_names_are_roots_and_functions_of_the_host():
    template = parse_template(
        "{{ let a = Data.x; filter(a, # > Facts.n) | len() }} {{ file('x') }} {{ lookup('data.y') }}"
    )
    assert template.names() == {"Data", "Facts", "file", "lookup"}


def test_functions_of_the_host_are_called_with_values():
    scope = Scope({"Data": DATA}, {"join_up": lambda *parts: "/".join(map(str, parts))})
    assert parse_template("{{ Data.port | join_up(1, 'a') }}").render(scope) == "8080/1/a"


def test_a_function_of_the_host_that_fails_points_at_its_call():
    def file(path):
        raise FunctionError(f"no file {path}", "make it")

    with pytest.raises(ExpressionError) as caught:
        parse_template("a {{ upper(file('x')) }}").render(Scope({}, {"file": file}))
    error = caught.value
    assert (error.message, error.hint, error.start, error.end) == ("no file x", "make it", 11, 20)


def test_what_a_function_of_the_host_raises_otherwise_passes():
    class NotYetError(Exception):
        pass

    def output(_name):
        raise NotYetError

    with pytest.raises(NotYetError):
        parse_template("{{ output('a') }}").render(Scope({}, {"output": output}))


def test_the_wrong_number_of_arguments_is_an_error_of_the_expression():
    with pytest.raises(ExpressionError, match="wrong number of arguments to call file: 2 given"):
        parse_template("{{ file('a', 'b') }}").render(Scope({}, {"file": lambda path: path}))


def test_a_lazy_mapping_is_asked_for_nothing_but_what_is_read():
    class Lazy(dict):
        asked = []  # noqa: RUF012

        def __getitem__(self, key):
            self.asked.append(key)
            return dict.__getitem__(self, key)

    facts = Lazy({"host": {"os": "linux"}, "slow": {}})
    scope = Scope({"Facts": facts})
    assert parse_template("{{ Facts.host.os }}").render(scope) == "linux"
    assert parse_template("{{ lookup('facts.host.os') }}").render(scope) == "linux"
    assert parse_template("{{ 'slow' in Facts }}").render(scope) == "true"
    assert set(facts.asked) == {"host"}


@pytest.mark.parametrize("alien", [b"bytes", object(), {1, 2}, print])
@pytest.mark.parametrize(
    "source", ["alien", "[alien]", "alien.x", "alien[0]", "len(alien)", "alien == 1", "map([alien], #)"]
)
def test_a_value_that_is_not_of_the_language_is_refused_wherever_it_is_used(alien, source):
    with pytest.raises(ExpressionError, match="can't be used in an expression"):
        parse_template(f"{{{{ {source} }}}}").value(Scope({"alien": alien}))
