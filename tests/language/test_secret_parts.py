"""Of a value that is made with a secret, the secret is masked wherever it shows, and the rest of it nowhere."""

import pytest

from reactor.language.secrets import differing, scrambled
from reactor.resource import redaction

DATA = (
    "data:\n  db:\n    user: app-user\n    port: 80801\n    # @secret\n    password: hunter2-horse\n"
    "    # @secret\n    pin: 471199\n"
)


def settled(site, content, **files):
    text = "resources:\n  - file:\n      - '{dir}/x': {content: " + content + ", {own}}\n"
    return site(DATA + text, **files).graph.resources


KEEPS = ["user=app-user", "listen 80801", "a line of its own", "app-user", "80801"]


@pytest.mark.parametrize(
    "content",
    [
        '"user=app-user\\npassword={{ Data.db.password }}\\nlisten 80801\\na line of its own\\n"',
        "\"{{ 'user=app-user\\n' + Data.db.password + '\\nlisten 80801' }}\"",
        "\"{{ join(['user=app-user', Data.db.password, 'listen 80801'], '\\n') }}\"",
        '"{{ toJSON(Data.db) }}"',
        '"{{ toJSON(Data) }}"',
        '"{{ let d = Data; d.db.user + d.db.password }}"',
        "\"{{ template('x.templ') }}\"",
        "\"{{ jet('x.jet') }}\"",
        "\"{{ trim(template('x.templ')) }}\"",
    ],
)
def test_what_stands_beside_a_secret_is_none(site, content):
    template = "user=app-user\npassword=%s\nlisten 80801\na line of its own\n"
    files = {
        "x.templ": template % "{{ Data.db.password }}",
        "x.jet": template % "[[ Data.db.password ]]",
    }
    resources = settled(site, content, **files)
    (resource,) = resources.values()
    assert "content" in resource.secrets
    assert "hunter2-horse" in resource.content
    assert "hunter2-horse" not in redaction.redact(resource.content)
    for each in KEEPS:
        assert redaction.redact(each) == each


@pytest.mark.parametrize("content", ['"{{ Data.db.password }}"', '"password={{ Data.db.password }}\\n"'])
def test_a_secret_that_is_only_named_is_masked_as_a_whole_and_its_words_are_not(site, content):
    """A mask in place of each word would garble the log, and say which words the secret is made of."""
    (resource,) = settled(site, content).values()
    assert "hunter2-horse" in resource.content
    assert redaction.redact("see hunter2-horse there") == "see [secret] there"
    assert redaction.redact("the horse of hunter2") == "the horse of hunter2"


@pytest.mark.parametrize(
    ("expression", "derived"),
    [
        ("upper(Data.db.password)", "HUNTER2-HORSE"),
        ("Data.db.password[0:7]", "hunter2"),
        ("replace(Data.db.password, 'hunter', 'gather')", "gather2-horse"),
        ("Data.db.pin + 1", "471200"),
        ("'user=app-user ' + upper(Data.db.password)", "HUNTER2-HORSE"),
        ("toJSON({user: Data.db.user, hash: upper(Data.db.password)})", "HUNTER2-HORSE"),
        ("split(Data.db.password, '-')[1] + 'x'", "horse"),
        ("template('x.templ')", "HUNTER2-HORSE"),
        ("jet('x.jet')", "HUNTER2-HORSE"),
        ("Data.db.user + toBase64(upper(Data.db.password))", "SFVOVEVSMi1IT1JTRQ"),
    ],
)
def test_what_is_made_of_a_secret_is_one_on_its_own(site, expression, derived):
    files = {
        "x.templ": "a\nkey={{ upper(Data.db.password) }}\n",
        "x.jet": "a\nkey=[[ upper(Data.db.password) ]]\n",
    }
    (resource,) = settled(site, f'"port 80801\\n{{{{ {expression} }}}}"', **files).values()
    assert derived in resource.content
    assert redaction.redact(f"see {derived} there") == "see [secret] there"
    for each in KEEPS:
        assert redaction.redact(each) == each


def test_what_a_template_of_resources_makes_of_a_secret_is_one(site):
    resources = "- exec:\n    - open: {command: '/bin/echo open-words'}\n    - hides: {command: '/bin/echo [[ upper(Data.db.password) ]]'}\n"
    graph = site(f"{DATA}ccm: {{resources_jet_file: x.jet}}", **{"x.jet": resources}).graph
    assert graph.resources["exec#hides"].secrets == {"command"}
    assert graph.resources["exec#open"].secrets == set()
    assert redaction.redact("HUNTER2-HORSE open-words /bin/echo") == "[secret] open-words /bin/echo"


def test_a_child_keeps_the_parts_of_what_it_is_given_apart(site):
    given = '"user=app-user\\npassword={{ Data.db.password }}\\n"'
    parent = DATA + "resources: [{apply: [{child.yaml: {data: {text: " + given + "}}}]}]"
    child = "resources: [{file: [{'{dir}/x': {content: '{{ Data.text }}', {own}}}]}]"
    resources = site(parent, **{"child.yaml": child}).graph.resources
    (resource,) = (each for each in resources.values() if each.kind == "file")
    assert "content" in resource.secrets
    assert redaction.redact(resource.content) == "user=app-user\npassword=[secret]\n"


def test_where_another_secret_would_fail_all_of_the_value_counts(site):
    content = '"{{ fromJSON(secret(\'{\\"a\\": true, \\"b\\": \\"inner-word\\"}\')).b + \' beside\' }}"'
    (resource,) = settled(site, content).values()
    assert resource.content == "inner-word beside"
    assert redaction.redact("an inner-word beside it") == "an [secret] it"


@pytest.mark.parametrize("value", ["aZ9", 0, 9, 4711, -990, 1.5, "!?", "é-ü", "{}", ["a", {"b": "c"}]])
def test_another_secret_differs_wherever_there_is_something_to_differ(value):
    other = scrambled(value)
    assert other != value
    assert [*differing(value, other)] != []


def test_equal_values_have_no_parts():
    assert [*differing({"a": ["x", 1, None]}, {"a": ["x", 1, None]})] == []
