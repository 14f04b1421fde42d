"""Jinja's environment as used here: strict, without access to Python, and with every loop and call charged.

All renderings share the environment. So the loader of the current rendering is in a context variable.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from types import CodeType
from typing import Any, Literal

from jinja2 import BaseLoader, Environment, StrictUndefined, Template, TemplateNotFound, Undefined, nodes
from jinja2.compiler import CodeGenerator, Frame, operators
from jinja2.runtime import Context, Macro
from jinja2.sandbox import SandboxedEnvironment

from reactor.language.errors import Fault
from reactor.language.templates.budget import Budget, Limits, current_budget, limited
from reactor.language.templates.engine import Delimiters, Loader
from reactor.language.templates.jinja.charged_calls import (
    METHODS,
    bounded,
    calculate,
    concatenated,
    count_call,
    weighed,
)
from reactor.language.templates.jinja.filters import ALL, plain
from reactor.language.templates.missing_values import no_value

_loader: ContextVar[Loader] = ContextVar("loader")
_prints_nil: ContextVar[bool] = ContextVar("prints_nil", default=True)


def load(name: str) -> str | None:
    """Return the source of a template, from the loader of the current rendering."""
    return _loader.get()(name)


def prints_nil() -> bool:
    """Whether the current rendering prints nil, as None, instead of raising an error."""
    return _prints_nil.get()


@contextmanager
def rendering(limits: Limits, loader: Loader, *, nil: bool = True) -> Iterator[Budget]:
    """Start a rendering for the block. ``nil`` says whether it may print nil."""
    token, before = _loader.set(loader), _prints_nil.set(nil)
    try:
        with limited(limits) as budget:
            yield budget
    finally:
        _loader.reset(token)
        _prints_nil.reset(before)


DEFAULT_DELIMITERS = ("{{", "}}")


class _Generator(CodeGenerator):
    """Generates code that charges each iteration of a loop, and each result of ``~``.

    Unlike Jinja, it refuses an unknown filter or test also within a condition, where only a run would find it, unless
    the template asks which there are.
    """

    _asks = False

    def visit_Template(self, node: nodes.Template, frame: Frame | None = None) -> None:  # noqa: N802
        self._asks = any(test.name in ("filter", "test") for test in node.find_all(nodes.Test))
        super().visit_Template(node, frame)

    def visit_Filter(self, node: nodes.Filter, frame: Frame) -> None:  # noqa: N802
        self._require("filter", node, self.environment.filters)
        super().visit_Filter(node, frame)

    def visit_Test(self, node: nodes.Test, frame: Frame) -> None:  # noqa: N802
        self._require("test", node, self.environment.tests)
        super().visit_Test(node, frame)

    def _require(self, what: str, node: nodes.Filter | nodes.Test, known: Container[str]) -> None:
        if node.name not in known and not self._asks:
            self.fail(f"No {what} named {node.name!r}.", node.lineno)

    def visit_For(self, node: nodes.For, frame: Frame) -> None:  # noqa: N802  Jinja calls it by this name
        step = nodes.ExprStmt(nodes.EnvironmentAttribute("step"), lineno=node.lineno)
        node.body.insert(0, step)
        super().visit_For(node, frame)

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("environment.concat((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:  # noqa: N802
        self.write("(")
        self._visit_weighed(node.expr, frame)
        for operand in node.ops:
            self.write(f" {operators[operand.op]} ")
            self._visit_weighed(operand.expr, frame)
        self.write(")")

    def _visit_weighed(self, node: nodes.Expr, frame: Frame) -> None:
        """Generate code that charges the value of ``node``, because lists are compared item by item."""
        self.write("environment.weighed(")
        self.visit(node, frame)
        self.write(")")


class _Loader(BaseLoader):
    """Loads templates with the loader of the current rendering. Each source is compiled once."""

    def load(self, environment: Environment, name: str, globals: Any = None) -> Template:  # noqa: A002, ARG002  Jinja's signature
        source = load(name)
        if source is None:
            raise TemplateNotFound(name)
        return cached_template(environment, source, name)


class _Missing(StrictUndefined):
    """A missing value. As in Ansible, what is looked for in it is missing too, so a default may follow: ``a.b.c | default(1)``."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> _Missing:  # type: ignore[override]
        return self


class LimitedEnvironment(SandboxedEnvironment):
    """An environment for data only. The only attributes are harmless methods of strings, maps and lists."""

    code_generator_class = _Generator
    intercepted_binops = frozenset(("*", "**", "+", "%"))
    concat = staticmethod(concatenated)
    weighed = staticmethod(weighed)

    @property
    def step(self) -> None:
        """Charge one iteration of a loop."""
        current_budget().step()

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:  # noqa: ARG002  Jinja's signature
        """Whether a template may read the attribute."""
        if isinstance(obj, _OWN):
            return not attr.startswith("_")
        return any(isinstance(obj, kind) and attr in names for kind, names in METHODS.items())

    def wrap_str_format(self, value: Any) -> None:  # noqa: ARG002
        """Disable ``str.format``, which can pad to any width. ``%`` remains: its widths are charged."""
        return

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ARG002
        """Charge the result of ``left operator right``, then return it."""
        return calculate(operator, self.binop_table[operator], left, right)

    def call(self, context: Context, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a macro, a method or a function, and charge that."""
        current_budget().step()
        count_call(function, args)
        return super().call(context, function, *args, **kwargs)


def _printable(value: Any) -> Any:
    """Return ``value`` for output.

    Raises Fault for a function, because its string would contain an address, and for nil if that is an error.
    """
    if value is None and not prints_nil():
        raise no_value("give it a default: | default('text', true)")
    if (
        isinstance(value, str | int | float)
        or value is None
        or not callable(value)
        or isinstance(value, Undefined)
    ):
        return weighed(value)
    raise Fault("can't print a function", "call it: add ()")


def _own_types() -> tuple[type, ...]:
    """Return Jinja's own types.

    Templates may read their public attributes: ``loop.index``, ``namespace``, ``self.block``.
    """
    from jinja2.environment import TemplateModule  # noqa: PLC0415
    from jinja2.runtime import BlockReference, LoopContext, TemplateReference  # noqa: PLC0415
    from jinja2.utils import Cycler, Joiner, Namespace  # noqa: PLC0415

    return (
        BlockReference,
        Cycler,
        Joiner,
        LoopContext,
        Macro,
        Namespace,
        TemplateModule,
        TemplateReference,
        _Missing,
    )


_OWN = _own_types()


@lru_cache(maxsize=16)
def environment(delimiters: Delimiters, newline: Literal["\n", "\r\n"]) -> LimitedEnvironment:
    """Return the environment for these delimiters of expressions and this line end."""
    found = LimitedEnvironment(
        variable_start_string=delimiters[0],
        variable_end_string=delimiters[1],
        newline_sequence=newline,
        keep_trailing_newline=True,
        undefined=_Missing,
        finalize=_printable,
        loader=_Loader(),
        cache_size=0,
    )
    found.filters = bounded(ALL)
    found.policies["json.dumps_kwargs"] = {"sort_keys": True, "default": plain}
    del found.globals["lipsum"]
    return found


@lru_cache(maxsize=1024)
def _code(of: Environment, source: str, name: str) -> CodeType:
    return of.compile(source, name, name)


def cached_template(of: Environment, source: str, name: str) -> Template:
    """Return the template of this source. It is compiled once, and then cached. Raises jinja2.TemplateSyntaxError."""
    return Template.from_code(of, _code(of, source, name), of.make_globals(None))
