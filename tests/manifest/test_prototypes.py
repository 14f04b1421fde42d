"""What is made of an item by the prototype of another one is what would be made of it alone."""

import random

from reactor.loading import load
from reactor.manifest import binding
from reactor.manifest.prototypes import Prototypes
from reactor.resource.diagnostic import ManifestError

SEED = 21
COMMON = 'ensure: present, owner: root, group: root, mode: "0644"'
NAMES = (
    "/a/{n}",
    "/b/{n}",
    "/b/same",
    "'/c/{n} x'",
    '"/d/{n}\\t"',
    "/e/{n}/",
    "/f//{n}",
    "relative{n}",
    "'/{{{{ {n} }}}}'",
    "'/g/{{ {n}'",
    "'/{{{{ {n} +'",
    "''",
    "'{n}'",
    "defaults",
)
VALUES = {
    "content": (
        *(
            "a",
            "'b {n}'",
            '"c\\n"',
            "{n}",
            "0644",
            "1.50",
            "true",
            "~",
            "",
            "[1]",
            "{{a: b}}",
            "'{{{{ 1 + 1 }}}}'",
        ),
        *("'{{ {n}'", "'{{{{ nosuch }}}}'", "'{{{{ 1 +'", '"\\x00"', "2001-01-01", ".inf", "'0x1F'", "0x1F"),
    ),
    "mode": ("0644", '"0644"', "644", "0o644", "0999", "07777", "'{{{{ \"0600\" }}}}'", "~", "x", "420.0"),
    "owner": (
        "root",
        "0",
        "'0'",
        "1.0",
        "nobody",
        "''",
        "true",
        "[root]",
        "'99999999999'",
        "'{{{{ \"root\" }}}}'",
    ),
    "ensure": ("present", "absent", "directory", "link", "presnt", "true", "'present'"),
    "target": ("/x", "../y", "''"),
    "source": ("/s/{n}", "s/{n}", "http://host/{n}", "/a/{n}"),
    "force": ("true", "false", "True", "yes", "'true'", "1"),
    "recurse": ("true", "false"),
    "require": ("file#/a/1", "'file#/a/1'", "[file#/a/2]", "nonsense", "file#/a/0"),
    "meta": ("{{noop: true}}", "{{mode: warn}}", "~", "{{now: audit}}", "{{reverse: true}}"),
    "alias": ("x{n}", "same", "''"),
    "control": ("{{if: 'true'}}", "{{unless: 'true'}}"),
    "validate": ("'true {{path}}'", "'true'"),
    "data": ("{{a: {n}}}",),
    "xattrs": ("{{user.a: b}}",),
    "contnet": ("a",),
    "name": ("/n",),
    "for_each": ("[1, 2]",),
}


COMMANDS = {
    "creates": ("/made/{n}", "/made/{n}/", "made", "~"),
    "command": (
        "'touch /made/{n}'",
        "'touch \"/made/{n}'",
        "'echo > /made/{n}'",
        "''",
        "'touch {{{{ 1 + 1 }}}}'",
    ),
    "provider": ("shell", "posix", "bash"),
    "onlyif": ("'test -e /a {n}'", '"test \'x"', "[true]"),
    "environment": ("[A={n}]", "A={n}", "PATH=/bin"),
    "timeout": ("5", "5s", "soon"),
    "umask": ('"0027"', "0027", "27"),
}


VALID = ("content", "mode", "owner", "meta", "alias", "control")


def item(choose, name, keys, values, nasty):
    number = name.rpartition("/")[2]
    name = choose.choice(NAMES) if choose.random() < nasty else name
    lines = [f"    - {name.format(n=number)}:"]
    for key in keys:
        value = choose.choice(values[key]) if choose.random() < nasty else values[key][0]
        lines.append(f"        {key}: {value.format(n=number)}")
    return "\n".join(lines)


def manifest(choose):
    nasty = choose.choice((0, 0.02, 0.3))
    keys = [*VALUES] if nasty > 0.1 else VALID
    shapes = [("content",), *(tuple(choose.sample(keys, choose.randint(0, 3))) for _ in range(3))]
    commands = [tuple(choose.sample([*COMMANDS], choose.randint(0, 2))) for _ in range(2)]
    strange = choose.choice(
        ["", "", ", meta: {noop: true}", ", content: 'x {{ 1 }}'", ", xattrs: {user.a: b}"]
    )
    first = [f"    - defaults: {{{COMMON}{strange}}}"] if nasty == 0 or choose.random() < 0.9 else []
    return "\n".join(
        [
            "resources:",
            "  - file:",
            *first,
            *(item(choose, f"/a/{n}", choose.choice(shapes), VALUES, nasty) for n in range(30)),
            "  - exec:",
            *(item(choose, f"touch /b/{n}", choose.choice(commands), COMMANDS, nasty / 4) for n in range(10)),
            "",
        ]
    )


def seen(path):
    """Everything that a load makes of a manifest."""
    try:
        loaded = load(str(path))
    except ManifestError as error:
        return error.diagnostics
    return (
        loaded.warnings,
        loaded.graph.edges,
        [of_resource(each) for each in loaded.graph.resources.values()],
    )


def of_resource(resource):
    properties = {name: value for name, value in vars(resource).items() if name != "declared"}
    declared = resource.declared
    deferred = None if declared.deferred is None else declared.deferred.texts()
    place = str(declared.place)
    types = [type(value) for value in properties.values()]
    fields_set = sorted(resource.__pydantic_fields_set__)
    return (
        declared._replace(form=None, deferred=deferred),
        place,
        list(properties.items()),
        types,
        fields_set,
        resource.__pydantic_private__,
        resource.model_dump(),
    )


def test_with_and_without_prototypes_a_manifest_is_the_same(tmp_path, monkeypatch):
    choose, made, valid = random.Random(SEED), [], 0
    original = Prototypes.add

    def add(prototypes, *item):
        made.append((prototypes._model.kind, original(prototypes, *item)))
        return made[-1][1]

    monkeypatch.setattr(Prototypes, "add", add)
    for number in range(60):
        path = tmp_path / f"{number}.yaml"
        path.write_text(text := manifest(choose))
        monkeypatch.setattr(binding, "_LONG", 1)
        with_prototypes = seen(path)
        monkeypatch.setattr(binding, "_LONG", 10**6)
        assert seen(path) == with_prototypes, f"seed {SEED}:\n{text}"
        valid += isinstance(with_prototypes, tuple)
    for kind in ("file", "exec"):
        assert made.count((kind, True)) > 100
        assert made.count((kind, False)) > 100
    assert 10 < valid < 50
