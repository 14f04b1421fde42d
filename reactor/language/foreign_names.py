"""What names of Ansible, Puppet, Jinja2 and Python are in expressions and templates here, for hints of errors."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

_FACTS: Final = {
    "Facts.host.info.platformFamily": "os_family osfamily os family",
    "Facts.host.info.platform": "distribution operatingsystem",
    "Facts.host.info.platformVersion": "distribution_version operatingsystemrelease osrelease",
    "split(Facts.host.info.platformVersion, '.')[0]": "distribution_major_version osmajorrelease operatingsystemmajrelease",
    "Facts.host.info.platformCodename": "distribution_release lsb lsbdistcodename oscodename",
    "Facts.host.info.hostname": "hostname nodename",
    "Facts.host.info.fqdn": "fqdn certname",
    "Facts.host.info.domain": "domain",
    "Facts.host.info.kernelVersion": "kernel kernelrelease kernelversion",
    "Facts.host.info.kernelArch": "architecture machine cpuarch osarch",
    "Facts.host.info.virtualizationSystem": "virtualization_type virtual",
    "len(Facts.cpu.info)": "processor_vcpus processor_count processor_cores processorcount processors num_cpus",
    "Facts.network.default_ipv4": "default_ipv4 ipaddress networking ipv4 fqdn_ip4",
    "Facts.network.default_ipv6": "default_ipv6 ipaddress6 ipv6 fqdn_ip6",
    "Facts.network.addresses": "all_ipv4_addresses all_ipv6_addresses",
    "Facts.network.interfaces": "interfaces ip_interfaces ip4_interfaces hwaddr_interfaces",
    "Facts.partition.usage": "mounts mountpoints",
    "Facts": "facts",
}
"""Expression -> the names of that fact in Ansible, without ``ansible_``, in Puppet, and in the grains of Salt."""

_BYTES: Final = "did you mean Facts.memory.{}.total? It counts bytes"
_FACTS_APART: Final = {
    **dict.fromkeys(
        ("memtotal_mb", "memory_mb", "memorysize", "memorysize_mb", "mem_total"), _BYTES.format("virtual")
    ),
    **dict.fromkeys(("swaptotal_mb", "swapsize", "swapsize_mb", "swap_total"), _BYTES.format("swap")),
    "check_mode": "no value depends on --noop: remove it",
    "date_time": "the time of loading is now(): now().Format('2006-01-02')",
    "env": "the environment is in Environ: Environ.HOME",
    "managed": "write the text itself, such as: managed by reactor",
    "is_virtual": "write Facts.host.info.virtualizationRole == 'guest'",
}
"""Name of a fact that is not the same here -> the hint."""

_IN_FACTS: Final = "the facts are in Facts, with names of their own, such as Facts.host.info.hostname: 'reactor facts' shows them"
_ONE_HOST: Final = "a manifest knows only its own host: put what it needs of others into the data"
_OF_PUSH: Final = (
    "did you mean Facts.fleet.{}? 'reactor push' gives it; the name of the host is Facts.host.info.hostname"
)
_NAMES: Final = {
    "inventory_hostname": _OF_PUSH.format("name"),
    "inventory_hostname_short": _OF_PUSH.format("name"),
    "group_names": _OF_PUSH.format("groups"),
    "True": "did you mean true?",
    "False": "did you mean false?",
    "None": "did you mean nil?",
    "null": "did you mean nil?",
    "groups": _ONE_HOST,
    "hostvars": _ONE_HOST,
    "grains": _IN_FACTS,
    "pillar": "the data of the manifest are in Data, as in Data.port",
    "$facts": _IN_FACTS,
    "salt": "the data of the manifest are in Data, as in Data.port, and the facts of the host in Facts",
    "vars": "the data of the manifest are in Data, as in Data.port",
}

_MERGE: Final = (
    "write fromPairs(concat(toPairs(Data.a), toPairs(Data.b))): of a key in both, the second value counts"
)
_OPENSSL: Final = "there is none: 'openssl passwd -6' makes a hash, which goes into the data as a secret"
_NO_HASH: Final = (
    "there is none: a template with 'engine: go' has sha256sum, and output('file#/etc/motd').checksum is one"
)
_IPADDR: Final = (
    "there is none: the annotation '@validate isIP(value)' at a key of the data checks an address"
)
_FUNCTIONS: Final = {
    "b64decode": "did you mean fromBase64?",
    "b64encode": "did you mean toBase64?",
    "basename": "write last(split(Data.path, '/'))",
    "bool": "true and false of the data are no strings: it is not needed; for a fact of --fact, write Facts.debug == 'true'",
    "combine": _MERGE,
    "d": "a default is written ??, as in Data.port ?? 80",
    "default": "a default is written ??, as in Data.port ?? 80",
    "dict2items": "did you mean toPairs?",
    "difference": "write filter(Data.a, # not in Data.b)",
    "dirname": "write join(split(Data.path, '/')[:-1], '/')",
    "epp": "did you mean template? Or name the file in the property 'template' of a file",
    "format": 'texts are joined with +, or written around {{ }}: "a {{ Data.b }}"',
    "from_json": "did you mean fromJSON?",
    "from_yaml": "there is none: write the YAML into the data of the manifest, or into a file for --data-file",
    "hash": _NO_HASH,
    "hiera": "a value of the data is written Data.port, or lookup('data.port')",
    "intersect": "write filter(Data.a, # in Data.b)",
    "ipaddr": _IPADDR,
    "ipv4": _IPADDR,
    "ipv6": _IPADDR,
    "items2dict": "did you mean fromPairs?",
    "length": "did you mean len?",
    "list": "a list is one already: it is not needed",
    "md5": _NO_HASH,
    "merge": _MERGE,
    "password_hash": _OPENSSL,
    "query": "did you mean lookup? Its paths begin with data, facts or environ",
    "range": "a range is written 0..3, which includes 3",
    "regex_replace": "did you mean replace? It replaces a text: expressions replace no patterns",
    "regex_search": "did you mean matches? It is an operator: Data.app matches '^web'",
    "reject": "did you mean filter? Its predicate has # for the element: filter(Data.ports, # <= 1024)",
    "rejectattr": "did you mean filter? Its predicate has .name for a key: filter(Data.users, .age <= 26)",
    "select": "did you mean filter? Its predicate has # for the element: filter(Data.ports, # > 1024)",
    "selectattr": "did you mean filter? Its predicate has .name for a key: filter(Data.users, .age > 26)",
    "sha1": _NO_HASH,
    "sha256": _NO_HASH,
    "ternary": "write Data.debug ? 'debug' : 'info'",
    "to_json": "did you mean toJSON?",
    "to_nice_json": "did you mean toJSON?",
    "to_nice_yaml": "did you mean toJSON? JSON is YAML, too",
    "to_yaml": "did you mean toJSON? JSON is YAML, too",
    "tojson": "did you mean toJSON?",
    "union": "write uniq(concat(Data.a, Data.b))",
    "unique": "did you mean uniq?",
}

_METHODS: Final = {
    "endswith": "hasSuffix",
    "find": "indexOf",
    "items": "toPairs",
    "lstrip": "trimPrefix",
    "rstrip": "trimSuffix",
    "startswith": "hasPrefix",
    "strip": "trim",
}
"""Method of Python -> the function here."""

_TOKENS: Final = {
    "=": "compare with ==",
    "is": "'x is defined' is written x != nil, and a default x ?? 'default'",
    "if": "write it with the condition first: Data.debug ? 'debug' : 'info'",
    "for": "write map(Data.ports, # + 1), or filter(Data.ports, # > 1024)",
    "~": "texts are joined with +, and compared with a regular expression by matches: Data.app matches '^web'",
}

_IN_MANIFEST: Final = "Jinja2 has none: compute it in the manifest, and write data.x here: data: {x: "
_ONLY_IN_GO: Final = "Jinja2 has none: write the template with 'engine: go', which has "
_FILTERS: Final = {
    "basename": "did you mean split? Write (path.split('/') | last)",
    "bool": "true and false of the data are no strings: it is not needed",
    "dict2items": "write {% for key, value in x.items() %}",
    "difference": "write a | reject('in', b) | list",
    "dirname": "did you mean rsplit? Write path.rsplit('/', 1)[0]",
    "flatten": _IN_MANIFEST + '"{{ flatten(Data.x) }}"}',
    "from_yaml": "write the YAML into the data of the manifest, or into a file for --data-file",
    "intersect": "write a | select('in', b) | list",
    "ipaddr": _IPADDR,
    "ipv4": _IPADDR,
    "ipv6": _IPADDR,
    "items2dict": _IN_MANIFEST + '"{{ fromPairs(Data.x) }}"}',
    "mandatory": "a missing value is an error by itself: it is not needed",
    "base64_decode": "did you mean b64decode?",
    "base64_encode": "did you mean b64encode?",
    "json": "did you mean to_json?",
    "md5": "write hash('md5')",
    "password_hash": _OPENSSL,
    "regex_findall": _ONLY_IN_GO + "regexFindAll",
    "sha1": "write hash('sha1')",
    "sha256": "write hash('sha256')",
    "ternary": "write ('a' if x else 'b')",
    "toYaml": "did you mean to_nice_yaml?",
    "yaml": "did you mean to_yaml?",
    "union": "write (a + b) | unique | list",
}
"""Filter of Ansible -> what to write in a template of Jinja2."""

_GO_FUNCTIONS: Final = {
    "b64decode": "did you mean b64dec?",
    "b64encode": "did you mean b64enc?",
    "env": "write .Environ.HOME",
    "from_json": "did you mean fromJson?",
    "fromYaml": "write the YAML into the data of the manifest: .Data has it",
    "getenv": "write .Environ.HOME",
    "htpasswd": _OPENSSL,
    "include": 'write {{ template "name" . }}; what render("name", .) returns can be piped: {{ render "name" . | indent 2 }}',
    "password_hash": _OPENSSL,
    "regexReplace": "did you mean regexReplaceAll?",
    "required": "a missing value is an error by itself: it is not needed",
    "sha256": "did you mean sha256sum?",
    "toJSON": "did you mean toJson?",
    "toJSONPretty": "did you mean toPrettyJson?",
    "toTOML": "name a TOML file in the kind setting, or write the lines",
    "toToml": "name a TOML file in the kind setting, or write the lines",
    "toYAML": "did you mean toYaml?",
    "parseJSON": "did you mean fromJson?",
    "parseYAML": "write the YAML into the data of the manifest: .Data has it",
    "base64Decode": "did you mean b64dec?",
    "base64Encode": "did you mean b64enc?",
    "toLower": "did you mean lower?",
    "toTitle": "did you mean title?",
    "toUpper": "did you mean upper?",
    "trimSpace": "did you mean trim?",
    "to_json": "did you mean toJson?",
    "to_yaml": "did you mean toYaml?",
    "tpl": "a text of the data is not a template: write what it holds into the template itself",
}
"""Function of Helm, consul-template, sprig or Ansible -> what to write in a Go template."""


_JET_FUNCTIONS: Final = {"toJSON": "json", "toJson": "json", "to_json": "json", "trim": "trimSpace"}
"""Function of Go templates, expressions or Ansible -> the one of Jet."""


def jet_function_meant(name: str) -> str | None:
    """Return the function of Jet that ``name``, of another program, means; None for other names."""
    return _JET_FUNCTIONS.get(name)


def fact_meant(name: str) -> str | None:
    """Return the hint for ``name``, a fact of Ansible or Puppet; None for other names."""
    bare = name.removeprefix("ansible_")
    if bare in _FACTS_APART:
        return _FACTS_APART[bare]
    meant = next((fact for fact, names in _FACTS.items() if bare in names.split()), None)
    if meant is None and bare != name:
        return "did you mean a fact? 'reactor facts' shows them: Facts.host.info.hostname"
    return f"did you mean {meant}?" if meant else None


def name_meant(name: str) -> str | None:
    """Return the hint for the bare ``name`` of another program; None for other names."""
    return _NAMES.get(name) or fact_meant(name)


def variable_meant(name: str) -> str | None:
    """Return the hint for the ``name`` of a variable in a template; None for names that no other program has."""
    if name in ("item", "key"):
        return f'write data.{name} here, and data: {{{name}: "{{{{ {name} }}}}"}} in the manifest, which has the loop'
    return name_meant(name)


def function_meant(name: str) -> str | None:
    """Return the hint for a function or filter of another program in an expression; None for other names."""
    return _FUNCTIONS.get(name)


def piped_meant(name: str) -> str:
    """Return the hint for ``| name`` without parentheses, as a filter of another program is written."""
    hint = function_meant(name) or f"a pipe leads into a call: | {name}()"
    if meant := re.match(r"did you mean (\w+)\?", hint):
        more = hint.removeprefix(meant[0])
        return f"{meant[0]} Write | {meant[1]}(){'.' if more else ''}{more}"
    return hint


def method_meant(name: str, functions: Container[str]) -> str | None:
    """Return the hint for a method of Python, for which there may be a function here; None for other names."""
    named = _METHODS.get(name, name)
    if named in functions:
        return (
            f"only times and durations have methods: write {named}(...), with the value as the first argument"
        )
    return function_meant(name)


def filter_meant(name: str) -> str | None:
    """Return the hint for a filter of Ansible in a template of Jinja2; None for other names."""
    return _FILTERS.get(name)


def go_function_meant(name: str) -> str | None:
    """Return the hint for a function of Helm, sprig or Ansible in a Go template; None for other names."""
    return _GO_FUNCTIONS.get(name)


def token_meant(token: str) -> str | None:
    """Return the hint for a word or sign that the expressions of another program have; None for others."""
    return _TOKENS.get(token)
