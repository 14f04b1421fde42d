"""The sections beside the resources: what is wrong in one is reported once, at its place."""

import pytest
from small_kinds import KINDS

from reactor import ManifestError
from reactor.manifest import read_manifests
from reactor.manifest.directories import manifests_in
from reactor.manifest.document import Settings, joined
from reactor.manifest.evaluation import UnknownSecretError
from reactor.manifest.inputs import Inputs
from reactor.manifest.phrasing import shown
from reactor.manifest.secret_section import Secrets

MAIL = "to: [a@example.org], from: b@example.org, server: example.org"


@pytest.mark.parametrize(
    ("section", "code", "message"),
    [
        ("notify: §[x]", "R0109", "notify must be a map, not a list"),
        ("notify: {a: §x}", "R0109", "a channel is a map, not 'x'"),
        ("notify: {a: {command: [x], §onn: [drift]}}", "R0106", "the channel a has no property 'onn'"),
        ("notify: {a: {command: §[]}}", None, "command: it must have at least 1 item, not 0"),
        (
            "notify: {a: {command: [x], on: [§failure]}}",
            "R0110",
            "on[0] must be 'failed', 'recovered', 'flapping' or 'drift', not 'failure'",
        ),
        ("notify: {§a: {}}", None, "a channel has exactly one of webhook, mail, command; this one has none"),
        (
            f"notify: {{a: {{command: §[x], mail: {{{MAIL}}}}}}}",
            None,
            "a channel has exactly one of webhook, mail, command; this one has mail and command",
        ),
        (
            f"notify: {{a: {{mail: {{{MAIL}, user: u, password: §p, tls: none}}}}}}",
            None,
            "a password is not sent over a connection in clear",
        ),
        (f"notify: {{a: {{mail: {{{MAIL}, user: §u}}}}}}", None, "user and password go together"),
        ("notify: {a: {webhook: §x}}", None, "webhook must be a map, not 'x'"),
        ("notify: {a: {webhook: {url: '{{ §b }}'}}}", None, "unknown name b"),
        ("notify: {a: {webhook: {url: §ftp://x}}}", None, "webhook.url"),
        ("secrets: §[x]", "R0109", "secrets must be a map, not a list"),
        ("secrets: {a: §x}", "R0109", "a secret is a map that names its source, not 'x'"),
        ("secrets: {a: {age: x, §timeuot: 1s}}", "R0106", "the secret a has no property 'timeuot'"),
        (
            "parameters: {§a: [x]}",
            "R0120",
            "the parameter a must have a type, or a map of properties, not a list",
        ),
    ],
)
def test_a_mistake_in_a_section_is_reported_at_its_place(read, section, code, message):
    before = section[: section.index("§")]
    reading = read(f"{section.replace('§', '')}\nresources: []\n")
    assert len(reading.messages) == 1
    assert message in reading.messages[0]
    assert reading.positions == [(1, len(before) + 1)]
    assert code is None or reading.diagnostics[0].code == code


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("pass show token", "write each word by itself: [pass, show, token]"),
        ("pass", "put it in brackets: ['pass']"),
    ],
)
def test_a_command_that_is_no_list_is_not_taken_for_one_word(read, command, hint):
    for section in ("secrets", "notify"):
        [problem] = read(f"{section}: {{a: {{command: {command}}}}}\nresources: []\n").diagnostics
        assert problem.hint == hint


@pytest.mark.parametrize(
    "section", ["notify", "secrets", "shares", "outputs", "assertions", "defaults", "parameters"]
)
def test_a_section_without_anything_in_it_is_no_problem(read, section):
    assert read(f"{section}:\nresources: []\n").diagnostics == []


def test_channels_are_part_of_the_manifest(read):
    reading = read(
        "notify:\n  a: {command: [/bin/true]}\n"
        "  b: {webhook: {url: 'http://{{ Data.host }}/', body: '{{ Notification.host }}'}}\n"
        "data: {host: h}\nresources: []\n"
    )
    assert reading.diagnostics == []
    assert list(reading.manifest.channels) == ["a", "b"]
    webhook = reading.manifest.channels["b"].webhook
    assert (webhook.url, webhook.body) == ("http://h/", "{{ Notification.host }}")


def test_a_secret_that_is_not_read_is_missed_where_it_can_not_wait(read):
    secrets = "secrets: {a: {age: x.age}}\n"
    reading = read(f"{secrets}resources:\n- job:\n  - 'b {{{{ Secrets.a }}}}':\n")
    assert reading.messages == ["waits for the secret a: this command reads no secrets"]
    reading = read(f"{secrets}resources: [{{job: [{{b: {{command: '{{{{ Secrets.a }}}}'}}}}]}}]\n")
    assert reading.diagnostics == []


def test_a_secret_whose_declaration_is_wrong_is_reported_only_there(read):
    reading = read("secrets: {a: x}\nresources: [{job: [{b: {command: '{{ Secrets.a }}'}}]}]\n")
    assert reading.messages == ["a secret is a map that names its source, not 'x'"]


@pytest.mark.parametrize("item", ["*nothing", "!unknown x"])
def test_an_item_that_is_no_value_is_reported_by_the_parser_alone(read, item):
    reading = read(f"resources:\n- job:\n  - {item}\n  - b:\n")
    assert len(reading.messages) == 1
    assert reading.positions == [(3, 5)]
    assert [each.name for each in reading.manifest.resources] == ["b"]


def test_a_key_may_have_an_anchor_a_tag_or_be_an_alias(read):
    reading = read(
        "resources:\n- job:\n  - &a one: {command: *a }\n  - !!str 2: {command: x}\n  - *a : {alias: y}\n"
    )
    assert reading.messages == ["job#one is declared twice"]
    assert [(each.name, each.command) for each in reading.manifest.resources] == [("one", "one"), ("2", "x")]


def test_a_directory_that_can_not_be_read_has_no_manifests(tmp_path):
    with pytest.raises(ManifestError) as caught:
        manifests_in(str(tmp_path / "none"))
    assert caught.value.code == "R0101"
    assert caught.value.files == (str(tmp_path / "none"),)
    assert "No such file or directory" in str(caught.value)


def test_the_settings_of_no_manifests_are_the_usual_ones():
    assert joined(()) == Settings()
    assert joined((Settings(jobs=3), Settings(jobs=2), Settings(fail_fast=True))) == Settings(
        jobs=2, fail_fast=True
    )


def test_secrets_are_the_same_if_the_same_are_known_and_the_same_are_not():
    waits = {"b": ("the server does not answer", None)}
    secrets = Secrets({"a": "x"}, waits)
    assert secrets == Secrets({"a": "x"}, {"b": ("another reason", "a hint")})
    for other in (
        Secrets({"a": "x"}, {}),
        Secrets({"a": "y"}, waits),
        Secrets({"a": "x"}, {**waits, "c": ("", None)}),
    ):
        assert secrets != other
        assert other != secrets
    assert Secrets({"a": "x"}, {}) == {"a": "x"}


def test_a_secret_that_is_not_known_where_the_graph_needs_it_is_a_problem_at_the_string(read):
    reading = read(
        "secrets: {a: {command: [/bin/false]}}\nresources:\n"
        '  - job: [{x: {command: y, alias: "{{ Secrets.a }}", after: ["job#{{ Secrets.a }}"]}}]\n'
    )
    assert [each.code for each in reading.diagnostics] == ["R0134", "R0134"]
    assert reading.positions == [(3, 36), (3, 63)]


def test_the_secrets_of_a_manifest_hide_those_of_the_manifest_that_applies_it():
    inner = Secrets({"a": "inner"}, {"b": ("inner", None)})
    found = inner.over(Secrets({"a": "outer", "b": "outer", "c": "outer"}, {"d": ("outer", None)}))
    assert dict(found) == {"a": "inner", "c": "outer"}
    assert found.waiting == {"b": ("inner", None), "d": ("outer", None)}
    assert all(name in found for name in "abcd")
    with pytest.raises(UnknownSecretError, match="waits for the secret b: inner"):
        found["b"]
    with pytest.raises(UnknownSecretError, match="waits for the secret d: outer"):
        found.get("d")
    assert found.get("e", 1) == 1


def test_parameters_that_a_test_gives_are_checked_against_those_declared(tmp_path):
    (tmp_path / "site.yaml").write_text(
        "# a role\nparameters:\n  port: integer\n  size: integer\nresources: []\n"
    )
    inputs = Inputs(parameters={"prot": 1, "size": "x"})
    _, found = read_manifests([str(tmp_path / "site.yaml")], KINDS, inputs)
    assert [(each.code, each.place.line, each.place.column, each.message) for each in found] == [
        ("R0122", 1, 1, "this manifest has no parameter 'prot'"),
        ("R0122", 3, 3, "the parameter 'port' has no value"),
        ("R0121", 4, 3, "the parameter size must be an integer, not 'x'"),
    ]
    assert found[0].hint == "did you mean 'port'?"


def test_a_value_is_shown_in_60_characters_at_most():
    assert shown("x" * 58) == f"'{'x' * 58}'"
    assert shown("x" * 59) == f"'{'x' * 56}..."


@pytest.mark.parametrize(
    ("order", "unused"),
    [
        ("hierarchy: {order: ['role:${ Facts.role ?? 1 }', common]}\n", ["rol:db", "role:", "commn", "x-b"]),
        ("hierarchy: {order: ['{{ 1 }}-b']}\n", ["role:db", "rol:db", "role:", "common", "commn"]),
        ("hierarchy: {order: ['{{ 1 }}-b', '{{ 1 }}:{{ 2 }}']}\n", []),
        ("", ["role:db", "rol:db", "role:", "common", "commn", "x-b"]),
    ],
)
def test_an_override_that_no_entry_of_the_order_leads_to_is_a_warning(read, order, unused):
    overrides = "".join(
        f"  '{key}': {{}}\n" for key in ("role:db", "rol:db", "role:", "common", "commn", "x-b")
    )
    warnings = read(f"{order}overrides:\n{overrides}resources: []\n").manifest.warnings
    named = [warning.partition(" the override ")[2].partition(" is never used")[0] for warning in warnings]
    assert named == unused
