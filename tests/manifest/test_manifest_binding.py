import json

import pytest
from small_kinds import KINDS, Job, Page

from reactor.errors import Place
from reactor.manifest import Kinds, read_manifests
from reactor.manifest.nodes import Mapping, Sequence
from reactor.manifest.phrasing import hint_for_choice, hint_home
from reactor.suggestions import did_you_mean


def page(properties, name="/a"):
    return f"resources:\n- page:\n  - {name}: {{ensure: present, {properties}}}\n"


@pytest.mark.parametrize(
    "text",
    [
        "resources: [{page: [{/a: {ensure: present, content: x}}]}]",
        "resources: [{page: {name: /a, ensure: present, content: x}}]",
        "resources: [{page: [{defaults: {ensure: present, content: x}}, {/a: }]}]",
        "resources: [{page: [{/a: {}}, {defaults: {ensure: present, content: x}}]}]",
        "resources: [{page: [{defaults: {ensure: absent, content: x}}, {/a: {ensure: present}}]}]",
        "resources: [{page: [{defaults: }, {/a: {ensure: present, content: x}}]}]",
        "data: {p: &p {ensure: present}}\nresources: [{page: [{/a: {<<: *p, content: x}}]}]",
        "data: {p: &p {/a: {ensure: present, content: x}}}\nresources: [{page: [*p]}]",
    ],
)
def test_both_entry_forms_and_defaults_give_the_same_resource(read, text):
    assert read(text).resource.model_dump() == Page(name="/a", ensure="present", content="x").model_dump()


def test_a_property_replaces_its_default_as_a_whole(read):
    text = "resources: [{page: [{defaults: {ensure: present, tags: [a, b], size: 1}}, {/a: {tags: [c]}}]}]"
    resource = read(text).resource
    assert resource.tags == ("c",)
    assert resource.size == 1


def test_null_takes_a_default_away(read):
    text = "resources: [{page: [{defaults: {ensure: present, content: x}}, {/a: {content: }}]}]"
    assert read(text).resource.content is None


def test_defaults_alone_declare_nothing(read):
    reading = read("ccm: {resources: [{page: [{defaults: {ensure: present}}]}]}")
    assert reading.diagnostics == []
    assert reading.manifest.resources == []


def test_resources_keep_the_order_of_the_file(read):
    text = "resources: [{job: [{b: }, {a: }]}, {page: {name: /c, ensure: absent}}, {job: {name: d}}]"
    assert [each.ref for each in read(text).manifest.resources] == ["job#b", "job#a", "page#/c", "job#d"]


@pytest.mark.parametrize(
    ("written", "value"),
    [("0644", "0644"), ("1.10", "1.10"), ("true", "true"), ("0o644", "0o644"), ("yes", "yes"), ("'5'", "5")],
)
def test_a_text_property_gets_what_is_written(read, written, value):
    resource = read(page(f"mode: {written}, tags: [{written}], alias: {written}")).resource
    assert (resource.mode, resource.tags, resource.alias) == (value, (value,), value)


def test_a_name_is_what_is_written(read):
    assert read("resources: [{job: [{1.10: }]}]").resource.name == "1.10"
    assert read("resources: [{job: {name: 0644}}]").resource.name == "0644"


def test_other_properties_get_values(read):
    resource = read(
        page("size: 0x10, ratio: 2, public: TRUE, limits: {a: 5}, notes: {b: [1, true, 1.5]}")
    ).resource
    assert (resource.size, resource.ratio, resource.public) == (16, 2.0, True)
    assert resource.limits == {"a": 5}
    assert resource.notes == {"b": [1, True, 1.5]}


def test_a_resource_holds_nothing_of_the_tree(read):
    notes = read(page("notes: {b: [{c: d}]}")).resource.notes
    assert not isinstance(notes, Mapping)
    assert not isinstance(notes["b"], (Mapping, Sequence))
    assert not isinstance(notes["b"][0], Mapping)


def test_a_property_may_go_by_another_name(read):
    assert read("resources: [{job: [{a: {refresh_only: true}}]}]").resource.refreshonly is True
    reading = read("resources: [{job: [{a: {refresh_only: 5}}]}]")
    assert reading.messages == ["refresh_only must be true or false, not 5"]
    assert reading.positions == [(1, 39)]


def test_a_property_may_not_go_by_both_names(read):
    [problem] = read("resources: [{job: [{a: {refresh_only: true, refreshonly: true}}]}]").diagnostics
    assert (problem.code, problem.message) == ("R0112", "refreshonly and refresh_only are the same property")
    assert problem.hint == "keep one of them"


def test_a_relative_path_starts_at_the_directory_of_the_manifest(tmp_path, monkeypatch):
    (tmp_path / "site.yaml").write_text(page("source: files/a"))
    monkeypatch.chdir(tmp_path)
    manifest, _ = read_manifests(["site.yaml"], KINDS)
    assert manifest.resources[0].source == f"{tmp_path}/files/a"
    assert manifest.resources[0].declared.place == Place("site.yaml", 3, 5)


def test_every_value_can_be_located(read):
    text = (
        "resources:\n"
        "- page:\n"
        "  - defaults: {ensure: present}\n"
        "  - /a:\n"
        "      require: [page#/b]\n"
        "      meta: {retry: 3}\n"
        "- job:\n"
        "    name: x\n"
        "    refresh_only: true\n"
    )
    reading = read(text)
    assert reading.diagnostics == []
    locate = reading.manifest.locate

    def spot(index, *path):
        place = locate(index, path)
        return place.line, place.column

    assert spot(0) == spot(0, "name") == (4, 5)
    assert spot(0, "require", 0) == (5, 17)
    assert spot(0, "meta", "retry") == (6, 21)
    assert spot(0, "meta", "delay") == (6, 13)
    assert spot(0, "ensure") == (3, 24)
    assert spot(0, "content") == (4, 5)
    assert spot(1) == spot(1, "name") == (8, 11)
    assert spot(1, "refreshonly") == (9, 19)


def test_positions_can_be_dropped(read):
    manifest = read(page("content: x")).manifest
    manifest.declarations = None
    assert manifest.locate(0, ("content",)) == manifest.resources[0].declared.place


# The place of each problem is marked with a §.
PROBLEMS = [
    # entries
    ("resources: [§5]", "an entry of resources maps a kind to its resources; this is 5"),
    ("resources: [§{}]", "this is nothing"),
    ("resources:\n- page: []\n-§\n", "this is nothing"),
    ("resources: [{page: [], §job: []}]", "an entry declares one kind; this one has page and job"),
    ("resources:\n- job:\n  §name: a\n", "an entry declares one kind; this one has job and name"),
    ("resources: [{§pagee: [{/a: }]}]", "unknown kind 'pagee'"),
    ("resources: [{§page: 5}]", "page must be a list of resources, not 5"),
    ("resources: [{§page: }]", "page must be a list of resources, not nothing"),
    # lists
    ("resources: [{job: [§a]}]", "an item of the list is a name with its properties, not 'a'"),
    ("resources: [{job: [§{}]}]", "an item of the list is a name with its properties, not nothing"),
    ("resources:\n- job:\n  - a:\n    §command: x\n", "this one has 2 keys"),
    ("resources: [{job: [{a: §[]}]}]", "the properties of 'a' are a map, not a list"),
    (
        "resources: [{job: [{defaults: {}}, §{defaults: {}}]}]",
        "the list of job resources has defaults already",
    ),
    ("resources: [{job: [{defaults: §5}]}]", "defaults are a map, not 5"),
    ("resources: [{job: [{defaults: {§name: a}}]}]", "defaults can't give a name"),
    ("resources: [{job: [{a: {§name: b}}]}]", "the name is given twice"),
    ("resources: [{§job: {}}]", "job requires the property 'name'"),
    (
        "resources: [{page: {§/a: {ensure: present}}}]",
        "page must be a list of resources, or the property 'name' of one",
    ),
    ("resources: [{job: {§defaults: {}, a: , b: {require: job#a}}}]", "job must be a list of resources"),
    (
        "resources: [{page: [{defaults: {ensure: present}}, {/a: }]}, {job: {§b: }}, {job: [{c: {require: job#b}}]}]",
        "job must be a list of resources",
    ),
    ("resources: [{§job: {command: x}}]", "job requires the property 'name'"),
    # properties
    ("resources: [{page: [{§/a: }]}]", "page requires the property 'ensure'"),
    ("resources: [{page: {name: §/a}}]", "page requires the property 'ensure'"),
    ("resources: [{§page: {}}]", "page requires the properties 'name' and 'ensure'"),
    ("resources: [{page: {§path: /a, ensure: present}}]", "page has no property 'path'"),
    ("resources: [{job: {§dest: a}}]", "job has no property 'dest'"),
    (
        "resources: [{page: {§path: /a, ensure: present}}, {job: [{a: {require: page#/a}}]}]",
        "page has no property 'path'",
    ),
    (
        "resources: [{page: [{name: /a, §ensure: present}]}, {job: [{a: {require: page#/a}}]}]",
        "this one has 2 keys",
    ),
    (page("§contents: x"), "page has no property 'contents'"),
    (page("meta: {§retries: 1}"), "meta has no property 'retries'"),
    (page("content: §[x]"), "content must be a string, not a list"),
    (page("mode: §{}"), "mode must be a string, not a map"),
    (page("public: §'yes'"), "public must be true or false, not 'yes'"),
    (page("public: §1"), "public must be true or false, not 1"),
    (page("size: §big"), "size must be an integer, not 'big'"),
    (page("size: §true"), "size must be an integer, not true"),
    (page("size: §1.5"), "size must be an integer, not 1.5"),
    (page("ratio: §fast"), "ratio must be a number, not 'fast'"),
    (page("tags: §a"), "tags must be a list, not 'a'"),
    (page("tags: [a, §{}]"), "tags[1] must be a string, not a map"),
    (page("limits: §[]"), "limits must be a map, not a list"),
    (page("limits: {a: 1, b: §x}"), "limits.b must be an integer, not 'x'"),
    (page("either: §{}"), "either must be an integer or a list, not a map"),
    (page("meta: §x"), "meta must be a map, not 'x'"),
    (page("meta: {noop: §}"), "meta.noop has no value"),
    (page("size: §"), "size has no value"),
    (page("pause: §5"), "pause: a duration needs a unit: write 5s for seconds"),
    (page("pause: §-1"), "pause: '-1' is not a duration: write it as 500ms, 30s, 5m or 1h30m"),
    (page("meta: {delay: §0s}"), "meta.delay: it must be greater than 0"),
    (page("meta: {semaphores: [a, §'disk:0']}"), "meta.semaphores[1]: 'disk:0' is not a semaphore"),
    (page("meta: {semaphores: [§'disk:']}"), "meta.semaphores[0]: 'disk:' is not a semaphore"),
    (page("meta: {semaphores: [§3]}"), "meta.semaphores[0]: '3' is not a semaphore"),
    (page("meta: {semaphores: [§'']}"), "meta.semaphores[0]: '' is not a semaphore"),
    (page("require: [job#a, §b]"), "require[1]: a reference is written kind#name"),
    (page("subscribe: §{job#a: x}"), "subscribe: a map here is one reference with its 'quiet'"),
    (page("subscribe: [job#b, §{job#a: {}}]"), "page requires the property 'subscribe[1].quiet'"),
    (page("subscribe: [§{job#a: {quiet: {at_most: 9s}}}]"), "page requires the property 'subscribe[0].for'"),
    (page("alias: §''"), "alias: it must have at least 1 character"),
    ("resources: [{page: [{/a: {ensure: §presnt}}]}]", "ensure must be 'present' or 'absent', not 'presnt'"),
    ("resources: [{page: [{/a: {ensure: §true}}]}]", "ensure must be 'present' or 'absent', not true"),
    ("resources: [{page: [{§a: {ensure: present}}]}]", "name: the path must be absolute"),
    ("resources: [{page: {name: §/a/, ensure: present}}]", "name: the path must be canonical: write /a"),
    (page("provider: §posx"), "page has no provider 'posx'"),
    (page("content: x, source: §y"), "content and source exclude each other"),
    ("resources: [{page: [{defaults: {ensure: absent, mode: §1}}, {/a: }]}]", "what is absent has no mode"),
    (
        "resources: [{page: [{defaults: {size: §x, ensure: absent}}, {/a: }, {/b: }]}]",
        "size must be an integer",
    ),
    # expressions
    (page("content: 'a {{ §b }} c'"), "unknown name b"),
    (page("content: '${ §b }'"), "unknown name b"),
    (page("tags: [a, 'x ${ §y }']"), "unknown name y"),
    (page("content: 'x'", '"{{ §n }}"'), "unknown name n"),
    ("resources: [{job: {name: 'a {{ §n }}'}}]", "unknown name n"),
    (
        "resources:\n- job:\n  - a:\n      command: |\n        echo\n        ${ §x }\n",
        "unknown name x",
    ),
    # identity
    ("resources: [{job: [{a: }, {§a: }]}]", "job#a is declared twice"),
    ("resources: [{job: [{a: }]}, {job: {name: §a}}]", "job#a is declared twice"),
    ("resources: [{job: [{a: }, {b: {alias: §a}}]}]", "job#a is declared twice"),
    ("resources: [{job: [{a: {alias: b}}, {§b: }]}]", "job#b is declared twice"),
    ("resources: [{job: [{a: {alias: c}}, {b: {alias: §c}}]}]", "job#c is declared twice"),
    ("resources: [{job: [{defaults: {alias: §c}}, {a: }, {b: }]}]", "job#c is declared twice"),
]


@pytest.mark.parametrize(("marked", "message"), PROBLEMS)
def test_a_problem_is_reported_once_and_at_its_place(read, marked, message):
    before = marked[: marked.index("§")]
    reading = read(marked.replace("§", ""))
    assert reading.positions == [(before.count("\n") + 1, len(before) - before.rfind("\n"))]
    assert message in reading.messages[0]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (page("contents: x"), "did you mean 'content'?"),
        (
            page("zzz: x"),
            "it takes content, either, limits, mode, notes, pause, public, ratio, size, source and tags, and what every kind has",
        ),
        (page("meta: {retries: 1}"), "did you mean 'retry'?"),
        (page("reverse: true"), "write meta: {reverse: ...}"),
        (page("notify: job#a"), "reverse it: write subscribe"),
        (page("before: job#a"), "reverse it: write require"),
        (page("when: x"), "write control: {if: EXPRESSION}"),
        (page("if: x"), "write control: {if: EXPRESSION}"),
        (page("onlyif: x"), "write control: {if: EXPRESSION}"),
        (page("unless: x"), "write control: {unless: EXPRESSION}"),
        (page("path: /b"), "it is the name of the resource: write it before the colon"),
        (page("dest: /b"), "it is the name of the resource: write it before the colon"),
        (
            "resources: [{page: {path: /b, ensure: present}}]",
            "it is the name of the resource: write '- /b:' below 'page:'",
        ),
        (
            "resources: [{page: [page: {path: /b, ensure: present}]}]",
            "it is the name of the resource: write '- /b:' below 'page:'",
        ),
        (
            "resources: [{page: {dest: /b, ensure: present}}]",
            "it is the name of the resource: write '- /b:' below 'page:'",
        ),
        ("resources: [{page: {}}]", "add 'name: ...' and 'ensure: ...' with present or absent"),
        (page("register: b"), "remove it: an expression of another resource reads output("),
        (page("become: true"), "remove it: everything is done as the user who starts reactor"),
        (page("with_items: [1]"), "did you mean 'for_each'?"),
        (page("loop: [1]"), "did you mean 'for_each'?"),
        (page("control: {if: Data.x}"), "give what may be missing a default: Data.x ?? false"),
        (page("control: {unless: not Data.x}"), "give what may be missing a default: Data.x ?? false"),
        (page("control: {if: Data.x == 1}"), "give what may be missing a default: Data.x ?? 'default'"),
        (page("control: {when: x}"), "it takes if and unless"),
        ("resources: [{page: [{dest: /b, ensure: present}]}]", "write the name before the colon: '- /b:'"),
        ("resources: [{page: [{ensure: present, name: /b}]}]", "write the name before the colon: '- /b:'"),
        ("resources: [{job: {/a: {}}}]", "write '- /a:', and so each of them"),
        (page("public: yes"), "in YAML 1.2 yes is a string: write true or false"),
        (page("public: 'true'"), "remove the quotes: true"),
        (page("public: 'False'"), "remove the quotes: false"),
        ("resources: [{page: [{/a: }]}]", "add 'ensure: ...' with present or absent"),
        ("resources: [{page: [{/a: {ensure: presnt}}]}]", "did you mean 'present'?"),
        ("resources: [{page: [{/a: {ensure: file}}]}]", "did you mean 'present'?"),
        ("resources: [{page: [{/a: {ensure: removed}}]}]", "did you mean 'absent'?"),
        ("resources: [{pag: []}]", "did you mean 'page'?"),
        ("resources: [{job: [a: {command: [/bin/echo, a b]}]}]", "write one text: /bin/echo 'a b'"),
        (page("require: Page[/b]"), "a reference is written kind#name: page#/b"),
        ("resources: [{page: [path: /b]}]", "write '- /b:', and the properties below it"),
        ("resources: [{page: [/b: present]}]", "write '- /b: {ensure: present}'"),
        ("resources: [{page: [/b: 5]}]", "write each as 'property: value'"),
        ("resources: [{cron: []}]", "the kinds are page and job"),
        ("resources: [{page#/a: {}}]", "a kind has a list of names: write 'page:', and '- /a:' below it"),
        (page("tags: a"), "put it in brackets: ['a']"),
        (page("tags: 'a,b'"), "write each by itself: [a, b]"),
        (page("tags: 1"), "put it in brackets: [1]"),
        ("resources: [{page: [], job: []}]", "start a new entry: '- job:'"),
        ("resources: [{job: , name: x}]", "indent what belongs to job below it"),
        ("resources: [{job: [{a: , command: x}]}]", "indent the properties below a:"),
        ("resources: [{job: [a]}]", "write '- a:'"),
        (
            "resources: [{job: [{name: [a, b], command: x}]}]",
            "write '- \"{{ item }}\":' with 'for_each: [...]'",
        ),
        ("resources: [{name: install, job: {command: x}}]", "write '- job:', below it '- NAME:'"),
        ("resources: [{job: {command: x}, when: x}]", "write '- job:', below it '- NAME:'"),
        (page("ignore_errors: true"), "remove it: let others come 'after' this one"),
        (page("delegate_to: web1"), "remove it: a manifest is about one host"),
        (page("no_log: true"), "remove it: mark the value as secret"),
        ("resources: [{job: [{a: }, {a: }]}]", "remove one of them, or rename it"),
    ],
)
def test_a_problem_says_how_to_repair_it(read, text, hint):
    assert read(text).diagnostics[0].hint.startswith(hint)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Package[nginx]", "package#nginx"),
        ("File['/etc/motd']", "file#/etc/motd"),
        ("package.nginx", "package#nginx"),
        ("service: nginx", "service#nginx"),
        ("nginx", "file#/etc/motd"),
    ],
)
def test_a_reference_of_another_program_is_shown_as_it_is_written_here(read, written, meant):
    (problem,) = read(page(f"require: [{json.dumps(written)}]")).diagnostics
    assert f"a reference is written kind#name, as in {meant}, not" in problem.message


def test_what_is_wrong_whatever_a_missing_state_will_be_is_said_with_it(read):
    reading = read("resources: [{page: [{/a: {content: x, source: y}}]}]")
    assert reading.messages == [
        "page requires the property 'ensure'",
        "content and source exclude each other",
    ]


def test_state_leads_to_ensure_and_is_the_only_problem(read):
    (problem,) = read("resources: [{page: [{/a: {state: present}}]}]").diagnostics
    assert (problem.message, problem.hint) == ("page has no property 'state'", "did you mean 'ensure'?")


@pytest.mark.parametrize(
    ("word", "choices", "hint"),
    [
        ("started", ["running", "stopped"], "did you mean 'running'?"),
        ("dir", ["present", "absent", "directory", "link"], "did you mean 'directory'?"),
        ("/a", ["present", "absent", "directory", "link"], "a link is ensure: link, with target: /a"),
        ("stoped", ["running", "stopped"], "did you mean 'stopped'?"),
        ("RUNNING", ["running", "stopped"], "did you mean 'running'?"),
        ("hash", ["first", "deep"], "did you mean 'deep'?"),
        ("enabled", ["running", "stopped"], "whether it starts at boot is enable: true"),
        ("restarted", ["running", "stopped"], "a restart is a refresh: subscribe to what must cause it"),
        ("started", ["present", "absent"], None),
    ],
)
def test_a_state_of_other_tools_leads_to_ours(word, choices, hint):
    assert hint_for_choice(word, choices) == hint


@pytest.mark.parametrize(
    ("word", "known", "hint"),
    [
        ("gid", ["group", "uid"], "did you mean 'group'?"),
        ("job", ["command", "schedule"], "did you mean 'command'?"),
        ("special_time", ["command", "schedule"], "did you mean 'schedule'?"),
        ("file", ["key", "path"], "did you mean 'path'?"),
        ("regexp", ["line", "match"], "did you mean 'match'?"),
        ("source", ["url", "force"], "did you mean 'url'?"),
        ("branch", ["url", "revision"], "did you mean 'revision'?"),
        ("chdir", ["command", "cwd"], "did you mean 'cwd'?"),
        ("repo", ["ensure", "url"], "did you mean 'url'?"),
        ("src", ["device", "fstype"], "did you mean 'device'?"),
        ("allow", ["accept", "drop"], "did you mean 'accept'?"),
        ("ssh_keys", ["home", "manage_home"], "an SSH key is a resource of its own: authorized_key"),
        ("tries", ["meta", "timeout"], "write meta: {retry: 3, delay: 10s}"),
        ("dest", ["name", "path"], "did you mean 'path'?"),
        ("dest", ["extract_parent", "name", "url"], "did you mean 'extract_parent'?"),
        ("src", ["name", "url"], "did you mean 'url'?"),
        ("src", ["name", "source"], "did you mean 'source'?"),
        ("exec", ["command", "on_calendar"], "did you mean 'command'?"),
        ("source", ["accept", "from", "to"], "did you mean 'from'?"),
        ("port", ["accept", "drop"], "a port stands behind its protocol: accept: tcp/22"),
        ("chdir", ["ensure"], None),
    ],
)
def test_a_property_of_other_tools_leads_to_ours(word, known, hint):
    assert hint_home(word, known) == hint


def test_an_abbreviation_is_of_the_word_that_has_its_letters_in_their_order():
    assert did_you_mean("cmd", ["cwd", "command"]) == "did you mean 'command'?"
    assert did_you_mean("cdw", ["cwd", "command"]) == "did you mean 'cwd'?"


def test_a_word_that_is_not_like_any_is_answered_with_none():
    assert did_you_mean("state", ["after", "ensure", "source"]) is None


def test_duplicates_show_both_places(read):
    [found] = read("resources:\n- job:\n  - a:\n  - a:\n").diagnostics
    assert found.place.line == 4
    assert [(note, place.line, place.column) for note, place in found.notes] == [
        ("first declared here", 3, 5)
    ]


def test_a_resource_declared_twice_by_one_alias_of_yaml_is_noticed(read):
    assert read("data: &j {a: }\nresources: [{job: [*j, *j]}]").messages == ["job#a is declared twice"]


def test_an_alias_may_repeat_the_name(read):
    assert read("resources: [{job: [{a: {alias: a}}]}]").resource.alias == "a"


def test_kinds_may_share_names(read):
    assert read("resources: [{job: [{/a: }]}, {page: [{/a: {ensure: present}}]}]").diagnostics == []


def test_all_problems_of_one_resource_are_reported_together(read):
    reading = read(page("contents: x, size: big, mode: [], ratio: , content: a, source: b, provider: x"))
    assert reading.messages == [
        "page has no property 'contents'",
        "size must be an integer, not 'big'",
        "mode must be a string, not a list",
        "ratio has no value",
        "page has no provider 'x'",
    ]


def test_a_conflict_is_reported_next_to_a_wrong_type(read):
    reading = read(page("size: big, content: a, source: b"))
    assert reading.messages == [
        "size must be an integer, not 'big'",
        "content and source exclude each other",
    ]


def test_no_conflict_is_claimed_over_a_property_that_is_in_doubt(read):
    text = "resources: [{page: [{/a: {ensure: absnt, mode: 1, source: '{{ x }}', content: b}}]}]"
    assert [message.split(" ")[0] for message in read(text).messages] == ["ensure", "unknown"]


def test_a_misspelt_property_is_not_missing_as_well(read):
    assert read("resources: [{page: [{/a: {ensur: present}}]}]").messages == ["page has no property 'ensur'"]


def test_what_is_declared_but_wrong_is_remembered(read):
    reading = read(
        "resources:\n"
        "- page: [{/a: {ensure: x, alias: front}}, {/b: {ensure: present}}, {/c: 5}]\n"
        "- pge: [{/d: }]\n"
        "- jb: {name: e}\n"
        "- job: [{f: {command: '{{ x }}'}}, {g: {alias: f}}, h, {i: , j: }]\n"
    )
    assert [each.ref for each in reading.manifest.resources] == ["page#/b"]
    assert [each.ref for each in reading.manifest.placeholders] == ["page#/a", "job#f"]
    assert reading.manifest.broken >= {
        "page#/c",
        "page#/d",
        "pge#/d",
        "job#e",
        "job#g",
        "job#h",
        "job#i",
        "job#j",
    }


def test_what_is_left_of_a_wrong_resource_is_its_name_and_what_it_refers_to(read):
    reading = read("resources: [{page: [{/a: {ensure: x, alias: front, require: [page#/b], after: [7]}}]}]")
    [wreck] = reading.manifest.placeholders
    assert (wreck.ref, wreck.alias, wreck.require, wreck.after) == ("page#/a", "front", ("page#/b",), ())
    assert reading.manifest.locate(0, ("require", 0)).column == 62


def test_what_the_tree_has_reported_is_not_reported_again(read):
    reading = read(
        "resources:\n- page:\n  - /a: {ensure: present, content: *no, tags: [!odd x], notes: {{ x }}}\n"
    )
    assert [message.split(" ")[0] for message in reading.messages] == ["no", "unknown", "a"]
    assert [each.ref for each in reading.manifest.placeholders] == ["page#/a"]


def test_a_kind_that_can_not_be_loaded_is_an_error(tmp_path):
    def find(name):
        raise ImportError("No module named 'gone'")

    (tmp_path / "site.yaml").write_text("resources: [{job: [{a: }]}, {job: [{b: }]}]")
    manifest, diagnostics = read_manifests([str(tmp_path / "site.yaml")], Kinds(lambda: ["job"], find))
    assert [found.message for found in diagnostics] == [
        "the kind 'job' can't be loaded: No module named 'gone'"
    ] * 2
    assert manifest.broken == {"job#a", "job#b"}


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("apt", "package"),
        ("ansible.builtin.copy", "file"),
        ("ansible.builtin.user", "user"),
        ("community.general.ini_file", "setting"),
        ("systemd", "service"),
        ("file_line", "line"),
        ("ssh_authorized_key", "authorized_key"),
        ("cmd", "exec"),
        ("pkgrepo", "repository"),
        ("ansible.posix.synchronize", "scaffold"),
        ("concat", "block"),
        ("fiel", "file"),
    ],
)
def test_a_module_of_another_tool_leads_to_the_kind(tmp_path, word, kind):
    (tmp_path / "site.yaml").write_text(f"resources: [{{{word}: []}}]")
    _, [found] = read_manifests([str(tmp_path / "site.yaml")])
    assert (found.message, found.hint) == (f"unknown kind {word!r}", f"did you mean {kind!r}?")


def test_kinds_are_those_installed_unless_configured_otherwise(tmp_path):
    (tmp_path / "site.yaml").write_text("resources: [{page: []}, {file: []}]")
    _, diagnostics = read_manifests([str(tmp_path / "site.yaml")])
    assert [found.message for found in diagnostics] == ["unknown kind 'page'"]
    assert Kinds.of(Job).names() == ("job",)
