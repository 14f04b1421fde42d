"""Where nothing would be printed, repeated or computed with, a strict rendering fails, with the place and the key."""

import pytest

from reactor.language.templates import MissingValues, TemplateError, template_engine

DATA = {"Data": {"port": 80, "tls": {"cert": "c"}, "none": None, "hosts": ["a"]}, "Facts": {"role": "db"}}


def rendered(engine, source, missing):
    delimiters = ("{{", "}}")
    compiled = template_engine(engine).compile(source, name="t", delimiters=delimiters, loader={}.get)
    return compiled.render(DATA, {}, missing)


WRONG = [
    ("go", "x\n{{ .Data.prot }}", "2:4: there is no key 'prot'", "did you mean port?"),
    ("go", "x\n{{ .Data.none }}", "2:4: the value is nil", None),
    ("go", "x\n{{ .Data.tls.crt }}", "2:4: there is no key 'crt'", "did you mean cert?"),
    ("go", "x\n{{ .Data.tsl.cert }}", "2:4: there is no key 'tsl'", None),
    ("go", "x\n{{ range .Data.hsts }}a{{ end }}", "2:", "did you mean hosts?"),
    ("go", 'x\n{{ if eq .Facts.rloe "db" }}a{{ end }}', "2:10: there is no key 'rloe'", "did you mean role?"),
    ("go", 'x\n{{ .Data.hsts | join "," }}', "2:", "did you mean hosts?"),
    ("go", 'x\n{{ printf "%v" .Data.prot }}', "2:16: there is no key 'prot'", "did you mean port?"),
    ("jet", "x\n{{ Data.prot }}", "2:4: there is no key 'prot'", "did you mean port?"),
    ("jet", "x\n{{ Data.none }}", "2:4: the value is nil", None),
    ("jet", 'x\n{{ if Facts.rloe == "db" }}a{{ end }}', "2:", "did you mean role?"),
    ("jet", 'x\n{{ Data["prot"] }}', "2:4: there is no key 'prot'", "did you mean port?"),
    ("jinja", "x\n{{ Data.prot }}", "2:1: 'dict object' has no attribute 'prot'", "did you mean port?"),
    ("jinja", "x\n{{ Data.none }}", "2:1: the value is nil", None),
    ("jinja", "x\n{% for h in Data.hsts %}a{% endfor %}", "2:1: 'dict object' has", "did you mean hosts?"),
    ("jinja", "x\n{% if Facts.rloe == 'db' %}a{% endif %}", "2:1: 'dict object' has", "did you mean role?"),
]


@pytest.mark.parametrize(("engine", "source", "words", "hint"), WRONG)
def test_a_strict_rendering_fails(engine, source, words, hint):
    with pytest.raises(TemplateError) as caught:
        rendered(engine, source, MissingValues(strict=True))
    assert str(caught.value).startswith(f"t:{words}")
    if hint is not None:
        assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("engine", "source", "text"),
    [
        ("go", '{{ .Data.prot | default 8 }} {{ default "x" .Data.none }}', "8 x"),
        ("go", "{{ if .Data.prot }}a{{ else }}b{{ end }}{{ with .Data.none }}c{{ end }}", "b"),
        (
            "go",
            "{{ if and .Data.port (not .Data.prot) }}a{{ end }}{{ if eq .Data.prot nil }}b{{ end }}",
            "ab",
        ),
        ("go", "{{ if or .Data.prot .Data.port }}a{{ end }}{{ coalesce .Data.prot 3 }}", "a3"),
        ("jet", "{{ if Data.prot }}a{{ else }}b{{ end }}{{ if isset(Data.prot) }}c{{ end }}", "b"),
        ("jet", '{{ isset(Data.prot) ? Data.prot : "d" }}{{ if Data.prot == nil }}e{{ end }}', "de"),
        ("jinja", "{{ Data.prot | default(8) }} {{ Data.none | default('x', true) }}", "8 x"),
        ("jinja", "{% if Data.prot is defined %}a{% else %}b{% endif %}", "b"),
    ],
)
def test_what_may_be_missing_is_tested_or_has_a_default(engine, source, text):
    assert rendered(engine, source, MissingValues(strict=True)) == text


@pytest.mark.parametrize(
    ("engine", "source", "text"),
    [
        ("go", "x\n{{ .Data.prot }}", "x\n<no value>"),
        ("go", "x\n{{ range .Data.hsts }}a{{ end }}", "x\n"),
        ("jet", "x\n{{ Data.prot }}", "x\n"),
        ("jet", "x\n{{ Data.none }}", "x\n<nil>"),
    ],
)
def test_one_that_is_not_strict_gives_what_the_language_has_and_reports(engine, source, text):
    missing = MissingValues()
    assert rendered(engine, source, missing) == text
    assert [(each.line, each.name) for each in missing.warnings] == [(2, "t")]
