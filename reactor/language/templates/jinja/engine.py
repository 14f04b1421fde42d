"""The engine for Jinja2."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, NoReturn, cast

from jinja2 import Template, TemplateNotFound, TemplateSyntaxError, Undefined, UndefinedError, nodes

from reactor.language.errors import FunctionError, TemplateError, TemplateSourceError
from reactor.language.foreign_names import fact_meant, filter_meant, variable_meant
from reactor.language.templates.budget import Limits
from reactor.language.templates.calls import Functions
from reactor.language.templates.engine import Delimiters, Loader, Reference
from reactor.language.templates.jinja.absent_names import absent_filters, absent_names
from reactor.language.templates.jinja.environment import (
    DEFAULT_DELIMITERS,
    cached_template,
    environment,
    rendering,
)
from reactor.language.templates.missing_values import MissingValues
from reactor.suggestions import closest

_OF_JINJA = ("{%", "{#")
"""The delimiters that begin statements and comments."""

_UNDEFINED = re.compile(r"'(\w+)' is undefined|has no attribute '(\w+)'")

_LAZY = re.compile(r"'[\w.]*LazyMap object'")
"""The name of a map whose values are read when they are used: for a template it is a map like any other."""

_NO_SUCH = re.compile(r"No (filter|test) named '(\w+)'")
_SIMILARITY = 0.7

_UNKNOWN_NAME = re.compile(r"'\w+' is undefined")
"""The whole message about a name that the template uses. A name that is looked up in a value is in other words."""

_Chunks = Generator[str, None, None]


class JinjaTemplate:
    """One compiled Jinja template."""

    def __init__(
        self, name: str, source: str, delimiters: Delimiters, loader: Loader, limits: Limits
    ) -> None:
        self._name = name
        self._source = source
        self._environment = environment(delimiters, "\r\n" if "\r\n" in source else "\n")
        self._loader = loader
        self._limits = limits
        self._template = self._compiled()

    def _compiled(self) -> Template:
        try:
            with rendering(self._limits, self._loader):
                return cached_template(self._environment, self._source, self._name)
        except TemplateSyntaxError as error:
            raise self._syntax_error(error) from error
        except RecursionError as error:
            raise TemplateSourceError("the template is nested too deep", self._name, 1, 1) from error
        except TemplateError:
            raise
        except Exception as error:  # noqa: BLE001  Jinja evaluates constants while it compiles
            self._explain(error, {})

    def render(
        self, context: Mapping[str, Any], functions: Functions, missing: MissingValues | None = None
    ) -> str:
        """Return the rendered text. Raises TemplateError."""
        variables = {**functions, **context}
        nil = missing is None or not missing.strict
        with rendering(self._limits, self._loader, nil=nil) as budget:
            chunks: list[str] = []
            try:
                root = cast(_Chunks, self._template.root_render_func(self._template.new_context(variables)))
                for chunk in root:
                    if not isinstance(chunk, str):  # raised in the template, the error gets its place
                        root.throw(TypeError(f"this block comes to a {type(chunk).__name__}, not to text"))
                    budget.charge_characters(len(chunk))
                    chunks.append(chunk)
            except TemplateError:
                raise
            except Exception as error:  # noqa: BLE001  operators in a template can raise anything
                self._explain(error, variables)
            return "".join(chunks)

    def unknown_names(
        self, functions: Collection[str], variables: Collection[str] | None
    ) -> Iterator[TemplateError]:
        """Yield an error for each function or variable that is not there. Unknown filters are refused before."""
        of_jinja = self._environment.globals
        known = {*functions, *of_jinja}
        for each in absent_names(self._environment.parse(self._source), self._source, known, variables):
            near = closest(each.name, (*known, *(variables or ())), _SIMILARITY)
            hint = variable_meant(each.name) or (f"did you mean {near}?" if near else None)
            if hint is None and each.what == "variable":
                hint = (
                    f"a value of the data is written Data.{each.name}; if it may be missing: | default(...)"
                )
            yield TemplateSourceError(f"{each.name!r} is undefined", self._name, each.line, each.column, hint)

    def references(self) -> Iterator[Reference]:
        """Yield the templates that it extends, imports and includes."""
        loading = (nodes.Extends, nodes.FromImport, nodes.Import, nodes.Include)
        for node in self._environment.parse(self._source).find_all(loading):
            names = _literal_names(cast(nodes.Include, node).template)
            if names and not (isinstance(node, nodes.Include) and node.ignore_missing):
                yield Reference(names, node.lineno, self._column(self._name, node.lineno))

    @property
    def defines(self) -> Collection[str]:
        """Nothing: blocks are not looked up as templates are."""
        return ()

    def _explain(self, error: Exception, variables: Mapping[str, Any]) -> NoReturn:
        """Raise a TemplateError with the place of ``error``."""
        if isinstance(error, TemplateSyntaxError):
            raise self._syntax_error(error) from error
        name, line = self._place(error.__traceback__)
        words, hint = _words(error), _hint(error, variables)
        is_unknown_name = isinstance(error, UndefinedError) and _UNKNOWN_NAME.fullmatch(words)
        kind = TemplateSourceError if is_unknown_name else TemplateError
        raise kind(words, name, line, self._column(name, line), hint, code=TemplateError.code) from error

    def _place(self, trace: TracebackType | None) -> tuple[str, int]:
        """Return the name of the innermost template in the traceback, and its line."""
        found = (self._name, 1)
        while trace is not None:
            template = trace.tb_frame.f_globals.get("__jinja_template__")
            if isinstance(template, Template):
                found = (template.name or self._name, template.get_corresponding_lineno(trace.tb_lineno))
            trace = trace.tb_next
        return found

    def _syntax_error(self, error: TemplateSyntaxError) -> TemplateError:
        name = error.name or self._name
        words = error.message or "this is not a template"
        if _NO_SUCH.match(words):
            source = self._source if name == self._name else self._loader(name) or ""
            first, *others = self._absent_filters(name, source)
            first.others = tuple(others)
            return first
        return TemplateSourceError(words, name, error.lineno, self._column(name, error.lineno))

    def _absent_filters(self, name: str, source: str) -> Iterator[TemplateError]:
        """Yield an error for each filter and test that there is not. There is at least one."""
        for each in absent_filters(self._environment.parse(source), source, self._environment):
            known = self._environment.filters if each.what == "filter" else self._environment.tests
            hint = _hint_for_absent(each.what, each.name, known)
            words = f"No {each.what} named {each.name!r}."
            yield TemplateSourceError(words, name, each.line, each.column, hint)

    def _column(self, name: str, line: int) -> int:
        """Return the column of the first tag in a line, because Jinja reports only lines."""
        source = self._source if name == self._name else self._loader(name) or ""
        text = "".join(source.splitlines()[line - 1 : line])
        starts = [text.find(mark) for mark in (self._environment.variable_start_string, "{%", "{#")]
        return 1 + min((start for start in starts if start >= 0), default=0)


def _literal_names(node: nodes.Expr) -> tuple[str, ...]:
    """Return the names of templates of which one is needed; nothing if an expression makes one of them."""
    given = node.items if isinstance(node, nodes.List | nodes.Tuple) else [node]
    names = tuple(
        each.value for each in given if isinstance(each, nodes.Const) and isinstance(each.value, str)
    )
    return names if len(names) == len(given) else ()


def _words(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "the template is nested or calls itself too deep"
    if isinstance(error, TemplateNotFound):
        return f"template {error.name} could not be found"
    if isinstance(error, FunctionError):
        return error.message
    return _LAZY.sub("'dict object'", str(error)) or type(error).__name__


def _hint_for_absent(what: str, name: str, known: Iterable[str]) -> str:
    """Return the hint for a filter or test, ``what``, that Jinja2 does not have."""
    if what == "filter" and (meant := filter_meant(name)):
        return meant
    near = closest(name, known, _SIMILARITY)
    few = ", and few of Ansible" if what == "filter" else ", without those of Ansible"
    return f"did you mean {near}?" if near else f"the {what}s are those of Jinja2{few}"


def _hint(error: Exception, variables: Mapping[str, Any]) -> str | None:
    if isinstance(error, RecursionError):
        return "end the recursion with a condition"
    if isinstance(error, FunctionError):
        return error.hint
    if isinstance(error, UndefinedError):
        found = _UNDEFINED.search(str(error))
        return found and _hint_for_undefined(error, found[1], found[2], variables)
    if "access to attribute 'format'" in str(error):  # the sandbox refuses it
        return "write '%s:%d' % (host, port), or join texts with ~"
    return None


def _hint_for_undefined(
    error: UndefinedError, name: str | None, key: str, variables: Mapping[str, Any]
) -> str | None:
    """Return the hint for an undefined ``name``, or for a ``key`` that a map lacks."""
    if name:
        maps = {known: value for known, value in variables.items() if isinstance(value, Mapping)}
        holder = next((known for known, value in maps.items() if name in value), None)
        if holder:
            return f"did you mean {holder}.{name}?"
        return variable_meant(name) or _nearest(name, variables)
    of = _holder(error)
    is_facts = of is not None and any(of is each for each in _maps_of_facts(variables.get("Facts")))
    return (fact_meant(key) if is_facts else None) or _nearest(key, of or ())


def _maps_of_facts(facts: Any) -> Iterator[Any]:
    """The maps in which a fact of another program is looked for: the facts, ``host`` and ``host.info``."""
    yield facts
    for key in ("host", "info"):
        facts = facts.get(key) if isinstance(facts, Mapping) else None
        yield facts


def _nearest(name: str, known: Iterable[object]) -> str:
    near = closest(name, known, _SIMILARITY)
    return f"did you mean {near}?" if near else "give it a default: | default(...)"


def _holder(error: UndefinedError) -> Mapping[str, Any] | None:
    """Return the map that lacks the key: Jinja keeps it in the undefined value that raised ``error``."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    undefined = trace.tb_frame.f_locals.get("self") if trace is not None else None
    of = getattr(undefined, "_undefined_obj", None) if isinstance(undefined, Undefined) else None
    return of if isinstance(of, Mapping) else None


class JinjaEngine:
    """Compiles Jinja templates."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def compile(
        self, source: str, *, name: str, delimiters: Delimiters | None, loader: Loader
    ) -> JinjaTemplate:
        """Compile ``source``. Raises TemplateError."""
        if delimiters is not None and delimiters[0] in _OF_JINJA:
            words = f"{delimiters[0]} can't begin an expression: it begins something else in Jinja"
            raise TemplateError(words, name, 1, 1, "choose other delimiters, such as << and >>")
        return JinjaTemplate(name, source, delimiters or DEFAULT_DELIMITERS, loader, self._limits)
