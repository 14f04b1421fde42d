"""The functions of @validate."""

import pytest

from reactor.language.errors import ExpressionError
from reactor.language.expression import parse_expression
from reactor.language.expression.scope import Scope
from reactor.language.expression.validators import VALIDATORS

TABLE = {
    "isIP(value)": (["10.0.0.1", "::1", "fe80::1"], ["", "10.0.0", "10.0.0.256", "host", "10.0.0.1/24", "fe80::1%eth0"]),
    "isIPv4(value)": (["10.0.0.1"], ["::1", "x"]),
    "isIPv6(value)": (["::1", "2001:db8::1"], ["10.0.0.1", "x"]),
    "isInt(value)": (["1", "-1", "+1", "0"], ["", "1.0", "x", " 1", "1_0"]),
    "isFloat(value)": (["1", "1.5", ".5", "-1e3"], ["", "x", "1.5.1", "1,5"]),
    "isDuration(value)": (["1s", "1h30m", "1.5h", "1d", "2w"], ["", "10", "x", "1 h"]),
    "isRegex(value, '^a+$')": (["a", "aaa"], ["", "b", "ab"]),
    "isShellSafe(value)": (["plain", "a b-c_d.e", "  x\n"], ["a;b", "$x", "`x`", "a|b", "a&b", "a>b", "(x)", "a\nb"]),
    "isHostname(value)": (["web1", "web1.example.com", "a-b"], ["", "-a", "a-", "a_b", "a..b", "a" * 64]),
    "isFQDN(value)": (["web1.example.com", "a.b."], ["web1", "", "a..b"]),
    "is_ipv4(value) or is_ipv6(value)": (["10.0.0.1", "::1"], ["x"]),
    "not is_int(value)": (["x"], ["1"]),
    "is_shellsafe(Value) && len(value) < 3": (["ab"], ["abc", "$"]),
}  # fmt: skip


def holds(source, value):
    return parse_expression(source).evaluate(Scope({"value": value, "Value": value}, VALIDATORS))


@pytest.mark.parametrize("source", TABLE)
def test_a_validator_distinguishes_good_values_from_bad_ones(source):
    good, bad = TABLE[source]
    assert [value for value in good if holds(source, value) is not True] == []
    assert [value for value in bad if holds(source, value) is not False] == []


def test_a_validator_has_two_names():
    assert {"isIP", "is_ip", "isFQDN", "is_fqdn", "isShellSafe", "is_shellsafe"} <= set(VALIDATORS)


@pytest.mark.parametrize("source", ["isInt(1)", "isInt()", "isRegex(value, '(')"])
def test_a_validator_used_wrongly_is_an_error(source):
    with pytest.raises(ExpressionError):
        holds(source, "x")
