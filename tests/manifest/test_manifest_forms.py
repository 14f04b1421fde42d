import pytest

from reactor.manifest import Settings

ONE = "resources: [{page: [{/a: {ensure: present}}]}]"
CCM = "ccm: {resources: [{page: [{/a: {ensure: present}}]}]}"


def test_the_native_form_is_ordered_by_the_graph(read):
    reading = read(ONE)
    assert reading.resource.ref == "page#/a"
    assert reading.manifest.settings == Settings(ordering="graph", fail_fast=False, jobs=None)


def test_the_ccm_form_keeps_the_order_of_the_manifest(read):
    reading = read(CCM)
    assert reading.resource.ref == "page#/a"
    assert reading.manifest.settings == Settings(ordering="manifest", fail_fast=False)


def test_the_ccm_form_has_options_of_its_own(read):
    manifest = read(
        "data: {a: '{{ 1 + 1 }}'}\n"
        "hierarchy: {order: ['os:${ Facts.os }'], merge: deep}\n"
        "overrides: {'os:debian': {a: 1}, other: }\n"
        "ccm:\n"
        "  fail_on_error: true\n"
        "  pre_message: before\n"
        "  post_message: 0644\n"
        "  resources: [{job: [{a: }]}]\n"
    )
    assert manifest.resource.name == "a"
    assert manifest.manifest.settings.fail_fast is True
    assert manifest.manifest.pre_message == "before"
    assert manifest.manifest.post_message == "0644"


def test_settings_decide_in_both_forms(read):
    settings = "settings: {ordering: %s, fail_fast: %s, jobs: 3}\n"
    assert read(settings % ("manifest", "true") + ONE).manifest.settings == Settings(
        ordering="manifest", fail_fast=True, jobs=3
    )
    assert read(settings % ("graph", "false") + CCM).manifest.settings == Settings(ordering="graph", jobs=3)


@pytest.mark.parametrize(
    ("text", "are_allowed"),
    [
        (ONE, True),
        ("settings: {ordering: manifest}\n" + ONE, True),
        (CCM, False),
        ("settings: {ordering: graph}\n" + CCM, True),
    ],
)
def test_only_the_ccm_form_in_the_order_of_the_manifest_has_no_automatic_edges(read, text, are_allowed):
    assert read(text).resource.declared.form.allow_automatic_edges is are_allowed


@pytest.mark.parametrize(
    "sections", ["data: \nhierarchy: \noverrides: \nsettings: \n", "data: {}\noverrides: {}\n"]
)
def test_empty_sections_are_as_good_as_none(read, sections):
    assert read(sections + ONE).resource.name == "/a"


def test_a_native_manifest_may_declare_nothing(read):
    reading = read("resources: []\n")
    assert reading.diagnostics == []
    assert reading.manifest.resources == []


@pytest.mark.parametrize(
    "text",
    [
        "data: {}\n",
        "resources:\n",
        "ccm: {}\n",
        "ccm: {resources: }\n",
        "ccm: {resources: []}\n",
    ],
)
def test_a_manifest_without_resources_is_an_error(read, text):
    assert read(text).messages == ["the manifest declares no resources"]


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("resource: []", (1, 1), "unknown key 'resource'", "did you mean 'resources'?"),
        (f"{ONE}\nunknown_top: 5", (2, 1), "unknown key 'unknown_top'", "a manifest takes data, hierarchy"),
        (f"{ONE}\nccm: {{}}", (2, 1), "unknown key 'ccm'", "either 'ccm:' or 'resources:'"),
        (
            "resources: {page: []}",
            (1, 12),
            "resources must be a list, not a map",
            "start each entry with '- '",
        ),
        ("resources: abc", (1, 12), "resources must be a list, not 'abc'", "start each entry with '- '"),
        (f"{ONE}\ndata: [1]", (2, 7), "data must be a map, not a list", None),
        (f"{ONE}\noverrides: {{a: 1}}", (2, 16), "a must be a map, not 1", None),
        (
            f"{ONE}\nhierarchy: {{order: [a], merge: deap}}",
            (2, 32),
            "merge must be 'first' or 'deep'",
            "did you mean 'deep'?",
        ),
        (f"{ONE}\nhierarchy: {{order: x}}", (2, 20), "order must be a list, not 'x'", None),
        (f"{ONE}\nsettings: []", (2, 11), "settings must be a map, not a list", None),
        (f"{ONE}\nsettings: {{job: 1}}", (2, 12), "settings has no property 'job'", "did you mean 'jobs'?"),
        (f"{ONE}\nsettings: {{jobs: 0}}", (2, 18), "jobs: it must be greater than or equal to 1", None),
        (f"{ONE}\nsettings: {{jobs: true}}", (2, 18), "jobs must be an integer, not true", None),
        (
            f"{ONE}\nsettings: {{fail_fast: yes}}",
            (2, 23),
            "fail_fast must be true or false, not 'yes'",
            "YAML 1.2",
        ),
        (f"{ONE}\nsettings: {{ordering: file}}", (2, 22), "ordering must be 'manifest' or 'graph'", None),
        ("ccm: 5", (1, 6), "ccm must be a map, not 5", None),
        ("ccm:", (1, 1), "the manifest declares no resources", "add a list under 'resources:'"),
        (f"{CCM}\nccmm: 1", (2, 1), "unknown key 'ccmm'", "did you mean 'ccm'?"),
        (
            "ccm: {resources: [{job: []}], fail_on_err: true}",
            (1, 31),
            "ccm has no property",
            "'fail_on_error'?",
        ),
        (
            "ccm: {resources: [{job: []}], pre_message: [x]}",
            (1, 44),
            "pre_message must be a string, not a list",
            None,
        ),
        (
            "ccm: {resources: [{job: []}], pre_message: '${x}'}",
            (1, 47),
            "unknown name x",
            None,
        ),
        (
            "ccm: {resources_jet_file: x.jet}",
            (1, 27),
            'resources_jet_file: failed to read file "x.jet": No such file or directory',
            None,
        ),
    ],
)
def test_a_wrong_outline_is_reported_at_its_place(read, text, place, message, hint):
    reading = read(text)
    assert reading.positions == [place]
    assert message in reading.messages[0]
    assert (hint or "") in (reading.diagnostics[0].hint or "")


def test_everything_wrong_is_reported_at_once(read):
    reading = read("settings: {jobs: x}\ndata: 5\nodd: 1\nresources:\n  - pag: []\n  - page: [{/a: {}}]\n")
    assert [line for line, _ in reading.positions] == [1, 2, 3, 5, 6]
