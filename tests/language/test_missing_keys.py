"""A key that is not there is an error in the native form, before anything runs; in the ``ccm:`` form it is CCM's nil."""

import re
from textwrap import indent

import pytest

from reactor.resource.diagnostic import ManifestError

DATA = "data: {port: 8080, tls: {cert: /c.pem}, users: [{name: ann, age: 30}, {name: bob}], none: null}\n"


def of_file(expression):
    """A file whose content has the expression in it."""
    return f'  - file:\n      - {{dir}}/a: {{{{own}}, content: "x = ${{ {expression} }}"}}\n'


def problems(site, text, **files):
    with pytest.raises(ManifestError) as caught:
        site(text, **files)
    return caught.value.diagnostics


def content_of(program, name):
    (found,) = (each for each in program.graph.resources.values() if each.name.endswith(name))
    return found.content


@pytest.mark.parametrize(
    ("expression", "message", "hint"),
    [
        ("Data.prot", "Data has no key 'prot'", "did you mean port?"),
        ("Data['prot']", "Data has no key 'prot'", "did you mean port?"),
        ("Data.tls.crt", "Data.tls has no key 'crt'", "did you mean cert?"),
        ("Data.tsl.cert", "Data has no key 'tsl'", "did you mean tls?"),
        ("Data.xyz", "Data has no key 'xyz'", "give what may be missing a default: Data.xyz ?? 'default'"),
        ("Facts.rle", "Facts has no key 'rle'", "did you mean role?"),
        (
            "Facts.xyz",
            "Facts has no key 'xyz'",
            "'reactor facts' shows what there is; or give what may be missing a default: Facts.xyz ?? 'default'",
        ),
        ("Environ.HOEM", "Environ has no key 'HOEM'", "did you mean HOME?"),
        (
            "map(Data.users, .age)",
            "the map has no key 'age'",
            "give what may be missing a default: #.age ?? 'default'",
        ),
        ("Data[Facts.role]", "Data has no key 'db'", None),
        ("let d = Data; d.prot", "d has no key 'prot'", "did you mean port?"),
        ("lookup('data.users.#.nme')", "missing key 'data.users.#.nme' in environment", None),
        ("Data.none", "the expression gives nil, which would be written <nil>", None),
        ("Data.tls?.crt", "the expression gives nil, which would be written <nil>", None),
    ],
)
def test_what_is_missing_is_an_error_with_its_place(site, expression, message, hint):
    text = f"{DATA}resources:\n{of_file(expression)}"
    (problem,) = problems_with(site, text)
    assert problem.message == message
    if hint is not None:
        assert problem.hint == hint
    line = site.filled(text).splitlines()[problem.place.line - 1]
    assert "content" in line
    assert problem.place.column - 1 > line.index("${")


def problems_with(site, text):
    with pytest.raises(ManifestError) as caught:
        site(text, facts={"role": "db"}, environ={"HOME": "/root"})
    return caught.value.diagnostics


def test_all_slips_of_a_manifest_are_reported_at_once(site, tmp_path):
    found = problems(
        site,
        DATA
        + """
resources:
  - file:
      - {dir}/a: {{own}, content: "{{ Data.prot }} {{ Data.tsl }}"}
      - "{dir}/{{ Data.nam }}": {{own}, content: x}
  - exec:
      - a: {command: "/bin/echo {{ Data.prt }}", environment: ["A={{ Data.a }}"]}
      - b: {command: /bin/true, control: {if: "Data.enbled"}}
      - c: {command: "/bin/echo {{ output('exec#a').stdout + Data.late }}"}
""",
    )
    assert [each.message.rpartition(" ")[2] for each in found] == [
        "'prot'", "'tsl'", "'nam'", "'prt'", "'a'", "'enbled'", "'late'",
    ]  # fmt: skip
    assert not list(tmp_path.glob("*a"))


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("Data.prot ?? 1", "1"),
        ('Data["prot"] ?? Data.port', "8080"),
        ("Data.a ?? Data.b ?? 'c'", "c"),
        ("Data.tsl?.cert ?? 'none'", "none"),
        ("Data.tls?.crt ?? 'none'", "none"),
        ("Data?.prot ?? 2", "2"),
        ("Environ.NOPE ?? 'x'", "x"),
        ("'prot' in Data", "false"),
        ("Data.prot == nil", "true"),
        ("Data.port != nil", "true"),
        ("nil == Data.prot", "true"),
        ("get(Data, 'prot') ?? 3", "3"),
        ("lookup('data.prot', 4)", "4"),
        ("lookup('data.users.#.nme', 5)", "5"),
        ("lookup('data.users.#.age')", "[30]"),
        ("Data.port > 1 ? 'big' : Data.nope", "big"),
        ("'x' in Data and Data.x", "false"),
        ("join(map(Data.users, string(.age ?? 0)), ' ')", "30 0"),
        ("len(filter(Data.users, #?.age != nil))", "1"),
    ],
)
def test_what_may_be_missing_can_be_said(site, expression, text):
    program = site(f"{DATA}resources:\n{of_file(expression.replace(chr(34), chr(96)))}")
    assert content_of(program, "/a") == f"x = {text}"


def test_the_ccm_form_keeps_nil_and_warns_with_the_place(site):
    text = (
        DATA
        + """ccm:
  resources:
    - file:
        - {dir}/a: {{own}, content: "port = {{ Data.prot }}"}
        - {dir}/b: {{own}, content: "{{ Environ.NOPE }}."}
    - exec:
        - a: {command: /bin/true, control: {if: "Data.enbled"}}
"""
    )
    program = site(text)
    assert content_of(program, "/a") == "port = <nil>"
    assert content_of(program, "/b") == "."
    found = [re.fullmatch(r".*/site.yaml:(\d+):(\d+): (.*)", each).groups() for each in program.warnings]
    assert [(int(line), words) for line, _, words in found] == [
        (5, "Data has no key 'prot', so nil is taken for it, as in CCM; did you mean port?"),
        (6, "Environ has no key 'NOPE', so an empty string is taken for it, as in CCM"),
        (8, "Data has no key 'enbled', so nil is taken for it, as in CCM"),
    ]
    lines = site.filled(text).splitlines()
    starts = [lines[int(line) - 1][int(column) - 1 :] for line, column, _ in found]
    assert [start.startswith(key) for start, key in zip(starts, ("prot", "NOPE", "enbled"), strict=True)] == [
        True
    ] * 3


@pytest.mark.parametrize("name", ["roles/{{ Facts.role }}.yaml", "roles/${ Facts.role }.yaml"])
def test_a_path_with_a_fact_that_is_missing_is_never_applied(site, name):
    found = problems(site, f'resources:\n  - apply:\n      - "{name}": {{}}\n')
    assert [each.message for each in found] == ["Facts has no key 'role'"]


def test_a_template_that_is_not_there_does_not_become_its_name(site):
    for call in ("template('a.j2')", "template('templates/app')", "template('a.conf')", "jet('a.jte')"):
        (problem,) = problems(site, f"resources:\n{of_file(call)}")
        assert "names a file that is not there" in problem.message
    program = site("resources:\n" + of_file("template('plain words')"))
    assert content_of(program, "/a") == "x = plain words"


def test_in_the_ccm_form_such_a_template_is_its_text_with_a_warning(site):
    program = site("ccm:\n  resources:\n" + indent(of_file("template('a.j2')"), "  "))
    assert content_of(program, "/a") == "x = a.j2"
    assert "names a file that is not there" in program.warnings[0]


def test_the_hierarchy_of_the_native_form_wants_the_facts_it_names(site):
    for entry in ("role:${ Facts.rle }", "role:${ lookup('facts.rle') }"):
        (problem,) = problems(
            site, f'hierarchy: {{order: ["{entry}"]}}\noverrides: {{role:db: {{a: 1}}}}\nresources: []\n'
        )
        assert "rle" in problem.message
    for entry in ("role:${ Facts.rle ?? '' }", "role:${ Facts?.rle }", "role:${ lookup('facts.rle', '') }"):
        program = site(
            f'hierarchy: {{order: ["{entry}"]}}\noverrides: {{role:db: {{a: 1}}}}\nresources: []\n'
        )
        assert program.data == {}


def test_the_hierarchy_of_the_ccm_form_passes_over_what_is_missing_and_warns(site):
    program = site(
        'hierarchy: {order: ["role:${ lookup(\'facts.rle\') }", "env:${ Facts.env }"]}\noverrides: {x: {a: 1}}\n'
        "ccm: {resources: [{exec: [{/bin/true: {}}]}]}\n"
    )
    assert program.data == {}
    assert len(program.warnings) == 2
    assert "site.yaml:1:" in program.warnings[0]


def test_data_that_refer_to_other_data_are_an_error_in_the_native_form(site):
    (problem,) = problems(site, "data: {a: 1, b: '${ Data.a }'}\nresources: []\n")
    assert problem.message == "unknown name Data"
    assert problem.hint == "expressions in data can use only Facts"


def test_a_misspelt_key_below_a_secret_does_not_report_the_others(site):
    (problem,) = problems(
        site,
        "data:\n  db: {passphrase: x1}  # @secret\n"
        "resources:\n  - exec: [{a: {command: '/bin/echo {{ Data.db.passphrse }}'}}]\n",
    )
    assert problem.message == "Data.db has no key 'passphrse'"
    assert "passphrase" not in (problem.hint or "")


@pytest.mark.parametrize("head", ["resources:\n", "ccm:\n  resources:\n"], ids=["native", "ccm"])
def test_a_misspelt_output_is_reported_when_it_is_known(head, manifest, reactor, tmp_path):
    body = """  - exec:
      - a: {command: /bin/echo one}
      - b: {command: "/usr/bin/touch {dir}/{{ output('exec#a').sdtout }}"}
"""
    done = reactor("run", "--converge-once", manifest(head + indent(body, "  " if "ccm" in head else "")))
    said = done.out + done.err
    assert "output('exec#a') has no key 'sdtout'" in said
    assert "did you mean stdout?" in said
    assert (done.code != 0) == (head == "resources:\n")
    assert (tmp_path / "<nil>").exists() == (done.code == 0)
