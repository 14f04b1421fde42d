"""Random expressions, written by a grammar: valid ones, nearly valid ones, and hostile ones."""

from __future__ import annotations

import random
from collections.abc import Callable

DATA = {
    "name": "web", "port": 8080, "ratio": 0.25, "on": True, "nothing": None, "empty": "", "list": [3, 1, 2],
    "words": ["b", "a", "c"], "map": {"k": "v", "n": {"z": 9}}, "users": [{"name": "ann", "age": 30}, {"name": "bob"}],
    "nested": [[1, [2]], []], "a.b": 1,
}  # fmt: skip
BINARY = (
    "+", "-", "*", "/", "%", "**", "^", "==", "!=", "<", ">", "<=", ">=", "and", "or", "&&", "||", "??", "..", "in",
    "matches", "contains", "startsWith", "endsWith", "not in", "not matches", "not contains",
)  # fmt: skip
PREDICATES = (
    "all", "none", "any", "one", "filter", "map", "find", "findIndex", "findLast", "findLastIndex", "count", "sum",
    "groupBy", "sortBy", "reduce",
)  # fmt: skip
FUNCTIONS = (
    "len", "type", "abs", "ceil", "floor", "round", "int", "float", "string", "trim", "trimPrefix", "trimSuffix",
    "upper", "lower", "split", "splitAfter", "replace", "repeat", "join", "indexOf", "lastIndexOf", "hasPrefix",
    "hasSuffix", "max", "min", "mean", "median", "toJSON", "fromJSON", "toBase64", "fromBase64", "now", "duration",
    "date", "timezone", "first", "last", "get", "take", "keys", "values", "toPairs", "fromPairs", "reverse", "uniq",
    "concat", "flatten", "sort", "bitand", "bitor", "bitxor", "bitnand", "bitnot", "bitshl", "bitshr", "bitushr",
    "lookup", "echo", "nope",
)  # fmt: skip
PATHS = (
    "data.list", "data.list.#", "data.users.#.name", 'data.users.#(name=="bob").name', "data.users.#(age>1)#|0.name",
    "data.*", "data.map.@keys", "data.{name,port}", "data.nested.@flatten", r"data.a\.b", "facts.x", "@this", "",
    "data.list.@reverse.0", 'data.words.#(%"*")#', "data.map.@tostr.@fromstr", "data.[list,users.#.{name}]", "#", "|",
)  # fmt: skip
HOSTILE = (
    "1..1000000000", "repeat('x', 1000000000)", "10 ** 10 ** 10", "map(1..1000, map(1..1000, map(1..1000, #)))",
    "reduce(1..10000, #acc + #acc, 'x')", "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' matches '^(a+)+$b'",
    "let a = 1..100; let b = map(a, a); let c = map(a, b); let d = map(a, c); toJSON(d)",
    "let a = 1..100; let b = map(a, a); let c = map(a, b); let d = map(a, c); d == d",
    "let a = 1..100; let b = map(a, a); let c = map(a, b); let d = map(a, c); d",
    "replace(repeat('x', 9999), '', repeat('y', 9999))", "fromJSON(repeat('[', 100000))", "fromJSON(repeat('[', 90) + repeat(']', 90))",
    "reduce(1..5000, [#acc], 0)", "len(string(reduce(1..200, [#acc], 0)))", "9223372036854775807 * 9223372036854775807",
    "filter(1..100000, any(1..100000, # > 100001))", "sort(map(1..100000, -#))", "split(repeat('a,', 400000), ',')",
    "lookup(repeat('data.', 10000))", "lookup(repeat('[', 1000) + 'a')", "lookup(repeat('data|@this|', 10000) + 'x')",
    "'x' matches repeat('(a*)*', 200)", "'x' matches '(((a{100}){100}){100})'", "date(repeat('9', 100000))",
    "int(repeat('9', 100000))", "float(repeat('9', 100000))", "duration(repeat('9', 1000) + 'h')",
    "bitshl(1, 1000000000)", "join(map(1..100000, repeat('x', 100)), repeat('-', 10000))", "uniq(map(1..50000, [#]))",
    "date('2020-01-01') + duration('9999999h') * 9999999", "toJSON(1.0 / 0)", "now().Format(repeat('Jan', 10000))",
    "Data.__class__", "Data['__class__'].__mro__", "Data.list.append(1)", "''.__class__", "now().__class__",
    "Data.name.format(Data)", "$env.__init__.__globals__", "echo.__globals__", "Data.users[0].__dict__", "Trap.secret",
    "Trap['secret']", "string(Trap)", "toJSON([Trap])", "[Trap] == [Trap]", "{{ }}", "lookup('trap.secret', 1)",
    "map([Trap], .secret)", "Trap?.secret", "type(Trap)", "keys(Trap)", "Trap in [Trap]", "sort([Trap, Trap])",
)  # fmt: skip
SIGNS = "()[]{}.,;:?!#|&+-*/%^=<>'\"`\\_$@~0123456789eExX \n\t\x00ü日\U0001f600"


class Writer:
    """Writes expressions; the same seed writes the same ones."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.in_predicate = 0

    def any(self) -> str:
        """One expression: mostly valid, one in four nearly valid, one in twenty hostile."""
        dice = self.rng.random()
        if dice < 0.05:
            return self.hostile()
        text = self.expression(self.rng.randint(1, 4))
        return self.damaged(text) if dice < 0.3 else text

    def hostile(self) -> str:
        """One that wants too much, or what is not its business."""
        size = self.rng.choice((50, 150, 3000))
        deep = (
            "(" * size + "1" + ")" * size, "[" * size + "]" * size, "!" * size + "true", "-" * size + "1",
            " + ".join(["1"] * size), "Data" + ".a" * size, "Data" + "?.a" * size, "1 ? " * size + "2" + " : 3" * size,
            "let x = " * size + "1", "map([1], " * size + "1" + ")" * size, "if true {" * size, "{a: " * size,
            "Data" + "[0]" * size, "'x'" + " | upper()" * size, "1" * size, "'" + "\\" * size, "a" * size, "." * size,
        )  # fmt: skip
        return self.rng.choice((*HOSTILE, *deep))

    def damaged(self, text: str) -> str:
        """``text`` with up to three small accidents."""
        for _ in range(self.rng.randint(1, 3)):
            at = self.rng.randrange(len(text) + 1)
            to = min(len(text), at + self.rng.randint(0, 3))
            text = text[:at] + self.rng.choice(("", self.rng.choice(SIGNS), text[at:to] * 2)) + text[to:]
        return text

    def expression(self, levels: int) -> str:
        """A valid expression with at most so many levels below it; its types may not fit."""
        if levels == 0:
            return self.leaf()
        return self.rng.choices(self._forms, (6, 2, 1, 4, 3, 2, 2, 1, 1, 1, 1, 2))[0](self, levels - 1)

    def leaf(self) -> str:
        """A literal, a root, or a pointer."""
        leaves = (
            "1", "0", "-7", "2.5", "1e3", "0x1F", "'text'", '"a\\n"', "`raw`", "''", "true", "false", "nil", "[]", "{}",
            "Data", "Environ.HOME", "Facts.os", "nope", *(f"Data.{key}" for key in DATA if key.isalpha()),
        )  # fmt: skip
        if self.in_predicate and self.rng.random() < 0.5:
            return self.rng.choice(("#", ".name", "#.age", "#index", "#acc", "#[0]"))
        return self.rng.choice(leaves)

    def _binary(self, levels: int) -> str:
        sign = self.rng.choice(BINARY)
        left, right = self.expression(levels), self.expression(levels)
        return (
            f"({left}) {sign} ({right})"
            if sign == "??" or self.rng.random() < 0.5
            else f"{left} {sign} {right}"
        )

    def _unary(self, levels: int) -> str:
        return f"{self.rng.choice(('not ', '!', '-', '+'))}{self.expression(levels)}"

    def _ternary(self, levels: int) -> str:
        return f"({self.expression(levels)}) ? {self.expression(levels)} : {self.expression(levels)}"

    def _call(self, levels: int) -> str:
        arguments = [self.expression(levels) for _ in range(self.rng.choice((0, 1, 1, 1, 2, 2, 3)))]
        return f"{self.rng.choice(FUNCTIONS)}({', '.join(arguments)})"

    def _predicate(self, levels: int) -> str:
        items = self.expression(levels)
        self.in_predicate += 1
        body = self.expression(levels)
        self.in_predicate -= 1
        extra = f", {self.expression(levels)}" if self.rng.random() < 0.2 else ""
        braces = self.rng.random() < 0.3
        return f"{self.rng.choice(PREDICATES)}({items}, {f'{{ {body} }}' if braces else body}{extra})"

    def _member(self, levels: int) -> str:
        key = self.rng.choice((".name", "?.name", "[0]", "[-1]", "[9]", "['k']", "?.[0]", ".n.z", "?.a?.b"))
        return f"({self.expression(levels)}){key}"

    def _slice(self, levels: int) -> str:
        return f"({self.expression(levels)})[{self.rng.choice(('1:', ':2', ':', '-2:', '0:-1', '5:1'))}]"

    def _list(self, levels: int) -> str:
        return f"[{', '.join(self.expression(levels) for _ in range(self.rng.randint(0, 3)))}]"

    def _map(self, levels: int) -> str:
        keys = self.rng.sample(("a", "'b'", "3", "(Data.name)"), self.rng.randint(0, 2))
        return f"{{{', '.join(f'{key}: {self.expression(levels)}' for key in keys)}}}"

    def _let(self, levels: int) -> str:
        name = f"v{self.rng.randrange(1000)}"
        return f"(let {name} = {self.expression(levels)}; {name} == {self.expression(levels)})"

    def _pipe(self, levels: int) -> str:
        more = f"({self.expression(levels)})" if self.rng.random() < 0.3 else "()"
        return f"({self.expression(levels)} | {self.rng.choice(FUNCTIONS)}{more})"

    def _lookup(self, levels: int) -> str:
        default = f", {self.expression(levels)}" if self.rng.random() < 0.5 else ""
        return f"lookup(`{self.rng.choice(PATHS)}`{default})"

    _forms: tuple[Callable[..., str], ...] = (
        _binary, _unary, _ternary, _call, _predicate, _member, _pipe, _slice, _list, _map, _let, _lookup,
    )  # fmt: skip
