"""What names of Ansible, Puppet, Jinja2 and Python are in expressions and templates here, for hints of errors."""

from __future__ import annotations

from typing import Final

_FACTS: Final = {
    "Facts.host.info.platformFamily": "os_family osfamily os family",
    "Facts.host.info.platform": "distribution operatingsystem",
    "Facts.host.info.platformVersion": "distribution_version distribution_major_version operatingsystemrelease",
    "Facts.host.info.platformCodename": "distribution_release lsb lsbdistcodename",
    "Facts.host.info.hostname": "hostname fqdn nodename certname",
    "Facts.host.info.kernelVersion": "kernel kernelrelease kernelversion",
    "Facts.host.info.kernelArch": "architecture machine",
    "Facts.host.info.virtualizationSystem": "virtualization_type virtual is_virtual",
    "Facts.memory.virtual.total": "memtotal_mb memory_mb memorysize memorysize_mb",
    "len(Facts.cpu.info)": "processor_vcpus processor_count processor_cores processorcount processors",
    "Facts.network.default_ipv4": "default_ipv4 ipaddress networking",
    "Facts.network.default_ipv6": "default_ipv6 ipaddress6",
    "Facts.network.addresses": "all_ipv4_addresses all_ipv6_addresses",
    "Facts.network.interfaces": "interfaces",
    "Facts.partition.usage": "mounts mountpoints",
    "Facts": "facts",
}
"""Expression -> the names of that fact in Ansible, without ``ansible_``, and in Puppet."""

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
    "vars": "the data of the manifest are in Data, as in Data.port",
}

_FUNCTIONS: Final = {
    "b64decode": "did you mean fromBase64?",
    "b64encode": "did you mean toBase64?",
    "d": "a default is written ??, as in Data.port ?? 80",
    "default": "a default is written ??, as in Data.port ?? 80",
    "dict2items": "did you mean toPairs?",
    "from_json": "did you mean fromJSON?",
    "hiera": "a value of the data is written Data.port, or lookup('data.port')",
    "items2dict": "did you mean fromPairs?",
    "length": "did you mean len?",
    "password_hash": "there is none: 'openssl passwd -6' makes a hash, which goes into the data as a secret",
    "range": "a range is written 0..3, which includes 3",
    "regex_search": "did you mean matches? It is an operator: Data.app matches '^web'",
    "select": "did you mean filter? Its predicate has # for the element: filter(Data.ports, # > 1024)",
    "selectattr": "did you mean filter? Its predicate has .name for a key: filter(Data.users, .age > 26)",
    "ternary": "write Data.debug ? 'debug' : 'info'",
    "to_json": "did you mean toJSON?",
    "to_nice_json": "did you mean toJSON?",
    "unique": "did you mean uniq?",
}

_TOKENS: Final = {
    "=": "compare with ==",
    "is": "'x is defined' is written x != nil, and a default x ?? 'default'",
    "if": "write it with the condition first: Data.debug ? 'debug' : 'info'",
    "for": "write map(Data.ports, # + 1), or filter(Data.ports, # > 1024)",
    "~": "texts are joined with +, and compared with a regular expression by matches: Data.app matches '^web'",
}

_IN_MANIFEST: Final = "Jinja2 has none: compute it in the manifest, and write data.x here: data: {x: "
_FILTERS: Final = {
    "b64decode": _IN_MANIFEST + '"{{ fromBase64(Data.x) }}"}',
    "b64encode": _IN_MANIFEST + '"{{ toBase64(Data.x) }}"}',
    "basename": "did you mean split? Write (path.split('/') | last)",
    "bool": "true and false of the data are no strings: it is not needed",
    "dict2items": "did you mean items?",
    "from_json": _IN_MANIFEST + '"{{ fromJSON(Data.x) }}"}',
    "mandatory": "a missing value is an error by itself: it is not needed",
    "regex_replace": "did you mean replace? It replaces a text: Jinja2 has no regular expressions",
    "ternary": "write ('a' if x else 'b')",
    "to_json": "did you mean tojson?",
    "to_nice_json": "did you mean tojson? Write tojson(indent=2)",
}
"""Filter of Ansible -> what to write in a template of Jinja2."""


def fact_meant(name: str) -> str | None:
    """Return the hint for ``name``, a fact of Ansible or Puppet; None for other names."""
    bare = name.removeprefix("ansible_")
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


def filter_meant(name: str) -> str | None:
    """Return the hint for a filter of Ansible in a template of Jinja2; None for other names."""
    return _FILTERS.get(name)


def token_meant(token: str) -> str | None:
    """Return the hint for a word or sign that the expressions of another program have; None for others."""
    return _TOKENS.get(token)
