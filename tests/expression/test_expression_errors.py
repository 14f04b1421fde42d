"""Every error says what, where and how to mend it; the place is in the whole text that was given."""

import pytest

from reactor.language.errors import ExpressionError
from reactor.language.expression import parse_expression, parse_template
from reactor.language.expression.scope import Scope

SCOPE = Scope(
    {"Data": {"list": [1, 2, 3], "name": "x", "port": 1}, "Facts": {}}, {"readFile": str, "file": str}
)

ERRORS = {
    "a {{ nope }}": (
        "unknown name nope",
        "nope",
        "a string is written 'nope', and a value of the data Data.nope",
    ),
    "a {{ Dta.x }}": ("unknown name Dta", "Dta", "did you mean Data?"),
    "{{ port }}": ("unknown name port", "port", "a string is written 'port'"),
    "b {{ data.x }}": ("unknown name data", "data", "did you mean Data?"),
    "{{ readfile('x') }}": ("unknown name readfile", "readfile('x')", "did you mean readFile?"),
    "{{ uper('x') }}": ("unknown name uper", "uper('x')", "did you mean upper?"),
    "{{ Data.port | default(80) }}": (
        "unknown name default",
        "Data.port | default(80)",
        "a default is written ??",
    ),
    "{{ zzzz(1) }}": ("unknown name zzzz", "zzzz(1)", "'reactor explain R0302' says which names there are"),
    "{{ upper + 1 }}": ("unknown name upper", "upper", "it is a function: write upper(...)"),
    "{{ Data.a.b }}": ("cannot fetch b from <nil>", "b", "use ?. to get nil"),
    "x ${ Data.list[1 / 0] } y": ("cannot fetch +Inf from list", "1 / 0", None),
    "x ${ Data.list[9] } y": ("index out of range: 9 (array length is 3)", "9", "get(list, index)"),
    "{{ lookup('data.x.y') }}": (
        "missing key 'data.x.y' in environment",
        "lookup('data.x.y')",
        "lookup('data.x.y', ",
    ),
    "{{ 1 + (Data.name + 1) }}": ("invalid operation: string + int", "Data.name + 1", "string(...)"),
    "{{ }}": ("the expression is empty", " ", "leave the delimiters out"),
    "{{ 1 + }}": ("unexpected end of the expression", " ", None),
    "{{ Data.name | upper }}": (
        "unexpected end of the expression",
        " ",
        "a pipe leads into a call: | upper()",
    ),
    "{{ Data.name | b64encode }}": (
        "unexpected end of the expression",
        " ",
        "did you mean toBase64? Write | toBase64()",
    ),
    "{{ Data.name | to_yaml }}": (
        "unexpected end of the expression",
        " ",
        "did you mean toJSON? Write | toJSON(). JSON is YAML, too",
    ),
    "{{ Data.name | 2x }}": ("bad number syntax: '2x'", "2x", "a name begins with a letter"),
    "{{ combine(1, 2) }}": ("unknown name combine", "combine(1, 2)", "fromPairs(concat(toPairs(Data.a)"),
    "{{ difference(1, 2) }}": ("unknown name difference", "difference(1, 2)", "# not in Data.b"),
    "{{ to_nice_yaml(1) }}": ("unknown name to_nice_yaml", "to_nice_yaml(1)", "toJSON? JSON is YAML, too"),
    "{{ regex_replace(1) }}": ("unknown name regex_replace", "regex_replace(1)", "replace no patterns"),
    "{{ path }}": ("unknown name path", "path", "'validate' of a file has {path}, in single braces"),
    "{{ ansible_managed }}": ("unknown name ansible_managed", "ansible_managed", "write the text itself"),
    "{{ hash('x') }}": ("unknown name hash", "hash('x')", "sha256sum"),
    "{{ ipaddr('x') }}": ("unknown name ipaddr", "ipaddr('x')", "@validate isIP(value)"),
    "{{ grains['fqdn'] }}": ("unknown name grains", "grains", "the facts are in Facts"),
    "{{ $facts['fqdn'] }}": ("unknown name $facts", "$facts", "the facts are in Facts"),
    "{{ ansible_fqdn }}": ("unknown name ansible_fqdn", "ansible_fqdn", "did you mean Facts.host.info.fqdn?"),
    "{{ ansible_distribution_major_version }}": (
        "unknown name ansible_distribution_major_version",
        "ansible_distribution_major_version",
        "split(Facts.host.info.platformVersion, '.')[0]",
    ),
    "{{ ansible_memtotal_mb }}": (
        "unknown name ansible_memtotal_mb",
        "ansible_memtotal_mb",
        "It counts bytes",
    ),
    "{{ Data.name.upper() }}": ("string has no method upper", "Data.name.upper()", "write upper(...)"),
    "{{ '%s'.format(1) }}": ("string has no method format", "'%s'.format(1)", "joined with +"),
    "{% for v in Data.list %}{{ v }}{% endfor %}": ("unknown name v", "v", "{% %} is not evaluated here"),
    "{{ Data.name = 'x' }}": ("unexpected token '='", "=", "compare with =="),
    "{{ not Data.name == 'x' }}": ("invalid operation: not string", "not Data.name", "write not (a == b)"),
    "{{ 'a' in 'abc' }}": ('operator "in" not defined on string', "'a' in 'abc'", "contains"),
    "{{ Data.a ?? 1 + 2 }}": (
        "operator (+) and coalesce expressions (??) cannot be mixed",
        "+",
        "parentheses",
    ),
    "{{ # }}": ("cannot use pointer accessor outside predicate", "#", "filter"),
    "{{ upper(1) }}": ("invalid argument for upper (type int)", "upper(1)", "first argument is string"),
    "{{ upper() }}": ("not enough arguments to call upper: 1 expected, 0 given", "upper()", None),
    "{{ Data.port ? 1 : 2 }}": ("the condition must be true or false, not int", "Data.port", "compare it"),
    "{{ filter(Data.list, #) }}": (
        "the predicate must be true or false, not int",
        "filter(Data.list, #)",
        "compare",
    ),
    r"{{ '\q' }}": (r"unknown escape \q", r"\q", "a backslash is written twice"),
    "{{ 'x' matches '(' }}": ("invalid regular expression: missing ): (", "'x' matches '('", "RE2"),
    "{{ 99999999999999999999 }}": (
        "the number 99999999999999999999 is too large",
        "99999999999999999999",
        None,
    ),
    "{{ let x = 1; let x = 2; x }}": ("cannot redeclare variable x", "x", "another name"),
}


@pytest.mark.parametrize("default", ["", ", 'test'"])
def test_a_root_of_lookup_in_capitals_is_an_error_even_with_a_default(default):
    with pytest.raises(ExpressionError) as caught:
        parse_expression(f"lookup('Facts.env'{default})").evaluate(
            Scope({"Facts": {"env": "prod"}}, strict=True)
        )
    assert caught.value.hint == "write lookup('facts.env')"


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("file", "file('/etc/hostname')"),
        ("env", "Environ.HOME"),
        ("os.family", "begin the path with one of 'data.', 'facts.'"),
    ],
)
def test_a_lookup_of_ansible_is_an_error_and_never_its_second_argument(path, hint):
    with pytest.raises(ExpressionError, match="is no root of lookup") as caught:
        parse_expression(f"lookup('{path}', '/etc/motd')").evaluate(
            Scope({"Facts": {}, "Data": {}}, strict=True)
        )
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("text", ERRORS)
def test_an_error_points_at_its_culprit(text):
    message, culprit, hint = ERRORS[text]
    with pytest.raises(ExpressionError) as caught:
        parse_template(text).render(SCOPE)
    error = caught.value
    assert error.message == message
    assert text[error.start : error.end] == culprit
    assert hint is None or hint in error.hint


def test_the_place_of_an_error_counts_the_whole_text():
    text = "first {{ Data.port }}, then {{ Data.nope.x }}"
    with pytest.raises(ExpressionError) as caught:
        parse_template(text).value(SCOPE)
    assert (caught.value.start, caught.value.end) == (41, 42)


def test_a_bare_expression_counts_from_its_own_start():
    with pytest.raises(ExpressionError) as caught:
        parse_expression("  Data.nope.x").evaluate(SCOPE)
    assert caught.value.start == 12


def test_an_unknown_name_is_found_in_the_branch_that_is_not_taken():
    with pytest.raises(ExpressionError, match="unknown name nope"):
        parse_expression("true ? 1 : nope").evaluate(SCOPE)


def test_a_message_never_repeats_a_long_value():
    with pytest.raises(ExpressionError) as caught:
        parse_expression("int(repeat('x', 100000))").evaluate(SCOPE)
    assert len(caught.value.message) < 250


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("ansible_os_family == 'Debian'", "did you mean Facts.host.info.platformFamily?"),
        ("Facts.os.family == 'Debian'", "did you mean Facts.host.info.platformFamily?"),
        ("inventory_hostname", "did you mean Facts.fleet.name?"),
        ("group_names", "did you mean Facts.fleet.groups?"),
        ("ansible_service_mgr", "'reactor facts' shows them"),
        ("hostvars['web1']", "a manifest knows only its own host"),
        ("True", "did you mean true?"),
        ("Data.port is defined", "x ?? 'default'"),
        ("'a' if true else 'b'", "condition first"),
        ("Data.app ~ 'x'", "joined with +"),
        ("Data.app | to_json()", "did you mean toJSON?"),
        ("Data.app | b64encode()", "did you mean toBase64?"),
    ],
)
def test_a_word_of_ansible_or_puppet_is_answered_with_what_there_is_here(text, hint):
    names = {"Data": {"app": "shop", "port": 80}, "Facts": {"host": {"info": {}}}}
    with pytest.raises(ExpressionError) as caught:
        parse_expression(text).evaluate(Scope(names, strict=True))
    assert hint in (caught.value.hint or "")


def test_each_expression_of_a_text_that_cannot_be_parsed_is_an_error():
    text = "a {{ 1 + }}\nb {{ Data.name }}\nc ${ [1 }\n"
    with pytest.raises(ExpressionError) as caught:
        parse_template(text)
    found = (caught.value, *caught.value.others)
    assert [(each.code, text.count("\n", 0, each.start)) for each in found] == [("R0301", 0), ("R0301", 2)]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Facts.host.info.platformFamily == 'Debian'", "write 'debian'"),
        ("'RedHat' != Facts.host.info.platformFamily", "write 'rhel'"),
        ("Facts.host.info.platform in ['debian', 'Ubuntu']", "write 'ubuntu'"),
        ("Data.port > 1 and Facts.host.info.platform == 'Rocky'", "write 'rocky'"),
    ],
)
def test_a_system_in_capitals_which_is_never_equal_is_an_error(text, hint):
    names = {
        "Data": {"port": 0},
        "Facts": {"host": {"info": {"platform": "debian", "platformFamily": "debian"}}},
    }
    with pytest.raises(ExpressionError, match="is never") as caught:
        parse_expression(text).evaluate(Scope(names, strict=True))
    assert caught.value.hint == hint
    assert parse_expression(text).evaluate(Scope(names)) in (True, False), "CCM takes it"


def test_a_version_compared_with_a_number_says_how_to_convert_it():
    with pytest.raises(ExpressionError, match="invalid operation: string >= int") as caught:
        parse_expression("Data.version >= 12").evaluate(Scope({"Data": {"version": "12.5"}}))
    assert "int(split('12.5', '.')[0])" in caught.value.hint
    assert parse_expression("int(split('12.5', '.')[0])").evaluate(Scope({})) == 12
