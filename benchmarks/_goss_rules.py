"""Makes malformed rules of goss: good ones broken as manifests are, and values that ask for too much."""

from __future__ import annotations

import random

from _mutate import mutated

GOOD = (
    "file:\n  /etc/passwd:\n    exists: true\n    mode: '0644'\n    size: {gt: 0, lt: 99999}\n    owner: root\n    contents: [root, '/^root:/', '!nobody', {have-prefix: x}]\n",
    "command:\n  ls /:\n    exit-status: 0\n    stdout: [etc, '!xyz', '/e.c/']\n    stderr: []\n    timeout: 1000\n    exec: ls -l\n",
    "http:\n  http://localhost:1:\n    status: 200\n    timeout: 100\n    body: {and: [{contain-substring: a}, {not: {match-regexp: 'b+'}}]}\n    headers: ['Content-Type: text/html']\n",
    "port:\n  tcp:22:\n    listening: true\n    ip: [0.0.0.0]\nprocess:\n  sshd: {running: true}\n",
    "user:\n  root: {exists: true, uid: 0, groups: [root], home: /root, shell: {have-suffix: sh}}\ngroup:\n  root: {exists: true, gid: 0}\n",
    "package:\n  bash: {installed: true, versions: {semver-constraint: '>= 5.0.0 < 6'}}\nservice:\n  ssh: {enabled: true, running: true, runlevels: ['3']}\n",
    "addr:\n  tcp://127.0.0.1:1: {reachable: false, timeout: 100}\ndns:\n  localhost: {resolvable: true, addrs: [127.0.0.1], server: 8.8.8.8, timeout: 10}\n",
    "kernel-param:\n  kernel.ostype: {value: Linux}\nmount:\n  /: {exists: true, opts: [rw], filesystem: ext4, usage: {lt: 95}}\ninterface:\n  lo: {exists: true, addrs: {contain-element: 127.0.0.1/8}, mtu: 65536}\n",
    "matching:\n  a: {content: {x: [1, 2, {y: z}]}, matches: {gjson: {x.0: 1, 'x.2.y': {equal: z}}}}\n  b: {content: [1, 2], matches: {consist-of: [2, {gt: 0}]}}\n  c: {content: 'a b', matches: {or: [{have-len: 3}, {match-regexp: '^a.b$'}]}}\n",
    "gossfile:\n  other.yaml: {}\n  '*.yaml': {file: x, skip: true}\n",
)  # fmt: skip
_HOSTILE = (
    "'/(a+)+$/'", "'/(a|a)*b/'", "'/" + "(" * 500 + "/'", "'/[/'", "'/a{1,9999}{1,9999}/'", "{match-regexp: '(x+x+)+y'}",
    "{" + "not: {" * 60 + "equal: 1" + "}" * 61, "[" * 90 + "]" * 90, "[" * 900 + "]" * 900, "{and: []}", "{or: {}}", "{gt: x}",
    "{have-len: -1}", "{semver-constraint: '>= 1.x || ~'}", "{consist-of: [[1], {a: b}]}", "{gjson: {'a.#.b|@pretty': 1}}",
    "99999999999999999999999", "1e999", ".nan", "-.inf", "0x" + "f" * 5000, "2001-01-01", "!!binary aGFsbG8=", "!!set {a, b}",
    "!!python/name:os.system", "? [a, b]\n: c", "{contain-elements: {gt: [1]}}", "{consist-of: [" + "{gt: 0}, " * 60 + "]}",
)  # fmt: skip
_LAUGHS = "a: &a0 [x, x, x, x, x, x, x, x]\n" + "".join(f"b{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]\n" for n in range(1, 12))  # fmt: skip


def malformed(rng: random.Random) -> bytes:
    """A file of rules, or what was one."""
    text = "".join(rng.sample(GOOD, rng.choice((1, 1, 2))))
    if rng.random() < 0.3:
        start = text.find(": ", rng.randrange(len(text))) + 2
        end = text.find("\n", start)
        text = text[:start] + rng.choice(_HOSTILE) + (text[end:] if end != -1 else "")
    if rng.random() < 0.005:
        return (f"matching:\n  a:\n    content: 1\n    matches: *a11\n{_LAUGHS}" if rng.random() < 0.1 else f"{_LAUGHS}matching: {{a: {{content: *a11, matches: *a11}}}}\n").encode()  # fmt: skip
    return mutated(text, rng) if rng.random() < 0.6 else text.encode()
