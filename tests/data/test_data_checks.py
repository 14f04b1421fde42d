"""What annotations ask of the data, after all layers are merged."""

import pytest

from reactor.data.annotations import Annotation
from reactor.data.resolve import Layer, resolve
from reactor.data.validation import check, secret_paths


def messages(values, *annotations, path=("k",)):
    marked = [
        Annotation(name, argument, 0) for name, _, argument in (each.partition(" ") for each in annotations)
    ]
    return [each.message for each in check(values, {path: marked}, secret_paths({path: marked}))]


@pytest.mark.parametrize("name", ["require", "required"])
@pytest.mark.parametrize("values", [{}, {"k": None}, {"k": ""}])
def test_what_is_required_must_have_a_value(name, values):
    assert messages(values, name) == ['key "k" is required but has no value']


@pytest.mark.parametrize("value", ["x", " ", 0, 0.0, False, [], {}])
def test_anything_else_is_a_value(value):
    assert messages({"k": value}, "require") == []


def test_nested_keys_are_required_wherever_the_way_ends():
    path = ("web", "port")
    for values in ({}, {"web": {}}, {"web": None}, {"web": 5}, {"web": {"port": None}}):
        assert messages(values, "require", path=path) == ['key "web.port" is required but has no value']
    assert messages({"web": {"port": 80}}, "require", path=path) == []


def test_a_key_with_dots_in_its_name_is_one_key():
    assert messages({"a.b": 1}, "require", path=("a.b",)) == []
    assert messages({"a": {"b": 1}}, "require", path=("a.b",)) == ['key "a.b" is required but has no value']


VALID = [
    ("192.0.2.1", "isIP(value)"),
    ("2001:db8::1", "is_ipv6(value)"),
    (8080, "isInt(value)"),
    (1.5, "is_float(value)"),
    (True, "value == 'true'"),
    ("1h30m", "isDuration(value)"),
    ("ab12", 'isRegex(value, "^[a-z]+[0-9]+$")'),
    ("safe text", "is_shellsafe(value)"),
    ("web01", "isHostname(value)"),
    ("web01.example.org", "isFQDN(value)"),
    ("2001:db8::1", "isIPv4(value) or isIPv6(value)"),
    (8080, "isInt(value) && int(Value) > 1024"),
]
INVALID = [
    ("web", "isIP(value)"),
    ("2001:db8::1", "isIPv4(value)"),
    ("1.5", "isInt(value)"),
    ("tomorrow", "is_duration(value)"),
    ("a; rm -rf /", "isShellSafe(value)"),
    ("", "isInt(value)"),
]


@pytest.mark.parametrize(("value", "validation"), VALID)
def test_a_valid_value_passes(value, validation):
    assert messages({"k": value}, f"validate {validation}") == []


@pytest.mark.parametrize(("value", "validation"), INVALID)
def test_an_invalid_one_does_not(value, validation):
    assert messages({"k": value}, f"validate {validation}") == [f'key "k" failed validation "{validation}"']


@pytest.mark.parametrize("value", [None, [], ["x"], {"a": 1}])
def test_only_single_values_are_validated(value):
    assert messages({"k": value}, "validate isInt(value)") == []
    assert messages({}, "validate isInt(value)") == []


@pytest.mark.parametrize(
    ("validation", "reason"),
    [
        ("nope(value)", "unknown name nope"),
        ("isInt(", ""),
        ("1 + 1", "it must give true or false, not 2"),
        ("isRegex(value, '[')", "invalid regular expression"),
    ],
)
def test_a_validation_that_makes_no_sense_is_reported_as_such(validation, reason):
    (message,) = messages({"k": "x"}, f"validate {validation}")
    assert message.startswith(f'key "k" validation "{validation}" failed: ')
    assert reason in message


def test_each_annotation_is_checked_and_a_missing_value_is_reported_once():
    asked = ("require", "validate isInt(value)", "validate int(value) > 10")
    assert messages({}, *asked) == ['key "k" is required but has no value']
    assert messages({"k": 5}, *asked) == ['key "k" failed validation "int(value) > 10"']


def test_no_message_shows_a_secret():
    told = messages({"k": "hunter2"}, "secret", "validate isInt(value)", "validate int(value) > 1")
    assert len(told) == 2
    assert "hunter2" not in repr(told)


ANNOTATED = {
    ("db", "password"): [Annotation("secret", "", 10), Annotation("require", "", 20)],
    ("db",): [Annotation("requried", "", 30)],
    ("port",): [
        Annotation("validate", "", 40),
        Annotation("required", "always", 50),
        Annotation("nonsense", "1", 60),
    ],
}


def test_the_checks_look_at_the_data_with_everything_over_it():
    document = {"data": {"db": {"password": ""}, "port": 80}}
    (problem,) = resolve(document, {}, annotations=ANNOTATED).problems
    assert problem.path == ("data", "db", "password")
    assert problem.comment_at == 20
    over = [Layer("--data", {"db": {"password": "x"}})]
    assert resolve(document, {}, over=over, annotations=ANNOTATED).problems == []


def test_the_keys_that_are_secret_are_reported():
    assert resolve({}, {}, annotations=ANNOTATED).secrets == {("db", "password")}


def test_what_is_secret_in_a_layer_stays_secret():
    over = [Layer("the manifest above", {"token": "t"}, frozenset({("token",)}))]
    assert resolve({}, {}, over=over, annotations=ANNOTATED).secrets == {("db", "password"), ("token",)}


def test_annotations_that_mean_nothing_are_warnings_with_advice():
    warnings = resolve({}, {}, annotations=ANNOTATED).warnings
    assert [(each.comment_at, each.message, each.hint) for each in warnings] == [
        (30, "unknown annotation @requried", "did you mean 'required'?"),
        (40, "unknown annotation @validate", "write an expression after it: @validate isIP(value)"),
        (50, "unknown annotation @required always", "write @required on a line of its own"),
        (
            60,
            "unknown annotation @nonsense 1",
            "the annotations are @require, @validate EXPRESSION and @secret",
        ),
    ]


def test_what_has_no_value_because_of_an_error_is_not_also_called_missing():
    document = {"data": {"db": {"password": "${ nope }"}}}
    assert [each.message for each in resolve(document, {}, annotations=ANNOTATED).problems] == [
        "unknown name nope"
    ]
