"""The functions of expressions: files beside the manifest, templates, outputs of other resources, services."""

from __future__ import annotations

import os.path
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from reactor.language.errors import BriefLimitError, ExpressionError, FunctionError
from reactor.language.expression import parse_template
from reactor.language.expression.scope import Scope
from reactor.language.secrets import (
    SecretText,
    all_strings,
    differing,
    scramble_paths,
    scrambled,
)
from reactor.language.values import describe_kind, to_string
from reactor.manifest.evaluation import NotYetError, Outcomes, bare_expression
from reactor.manifest.source import LineMap
from reactor.resource.declared import Outputs
from reactor.resource.redaction import register_secret, with_each_secret
from reactor.trust.inputs import open_input
from reactor.trust.rule import DistrustedError

if TYPE_CHECKING:
    from reactor.manifest.jet_templates import TemplateData
    from reactor.resource.network_value import Network

MAX_FILE = 16 * 1024 * 1024
"""The largest file, in bytes, that an expression can read."""
_FILE_NAME = (
    r"(?!\w+:)[\w.+-]*(?:/[\w.+-]+)+|"
    r"[\w.+-]+\.(?:j2|jinja2?|te?mpl|tpl|jte?|gotmpl|erb|epp|ejs|hbs|mustache|twig|conf|cfg|cnf|ini|txt|ya?ml|json|toml|xml)"
)
"""Matches a string that is a path or ends like a template file: it is probably a file name, not a template."""
_BRIEFLY_READ = 256 * 1024
_IN_LOOPS = "it exists only in a declaration with for_each"
_LOOP_ROOTS = {
    "item": _IN_LOOPS,
    "key": _IN_LOOPS,
    "subitem": "it exists only in a declaration with for_each and subitems",
    "subkey": "it exists only in a declaration with for_each and subitems",
}
MAX_TEMPLATES = 10
"""The maximum depth of templates that use each other."""


def secret(value: Any) -> SecretText:
    """Return ``value`` marked as a secret: it and all strings made from it are masked."""
    register_secret(value)
    return SecretText(value)


def _text(value: Any, function: str) -> str:
    """Return ``value``, an argument of ``function`` that must be a string. Raises FunctionError."""
    if isinstance(value, str):
        return value
    raise FunctionError(f"{function} requires a string argument, not {describe_kind(value)}")


class ExpressionFunctions:
    """The functions that expressions of a manifest in the directory ``base`` can call, and their ``scope``.

    ``reads`` collects the absolute paths of the files that they read. `reading` sets the outputs of other resources.
    The clock stays at ``moment``, when the manifest was loaded: a value must not change by itself between checks.
    ``network`` gives the values of `registrations`, `kvGet` and `shared`; without it, calling them is an error.
    """

    def __init__(
        self,
        base: str,
        names: Mapping[str, Any],
        secrets: frozenset[tuple[str, ...]],
        *,
        strict: bool,
        moment: datetime | None = None,
        network: Network | None = None,
    ) -> None:
        self.base = base
        self.network = network
        self.moment = moment or datetime.now(UTC)
        self.reads: set[str] = set()
        self.outcomes: Outcomes | None = None
        """What the strings of a file have become so far while it is loaded; None in loops, and once it is loaded."""
        self.scope = Scope(
            names,
            self._functions,
            secrets=secrets,
            hide=register_secret,
            scrambled=self._other_secrets,
            strict=strict,
            absent=_LOOP_ROOTS,
        )
        self.scope.moment = self.moment
        self._outputs: Outputs | None = None
        self._may_wait = False
        self._depth = 0

    def rendered(self, file: str) -> str:
        """Render the Jet template in ``file``, and register the strings that it makes from secrets."""
        text = self.jet(file)
        if isinstance(text, SecretText):
            parts: Iterable[str] = all_strings(text)
            with suppress(FunctionError, NotYetError):  # if this fails too, the whole result counts as secret
                parts = differing(text, self._scrambled.jet(file))
            register_secret([*parts])
        return text

    @cached_property
    def _scrambled(self) -> OtherSecrets:
        secrets = self.scope.secrets
        names = scramble_paths(self.scope.names, secrets, partial(with_each_secret, make=scrambled))
        return OtherSecrets(self.base, names, secrets, self.moment, self.network)

    def _other_secrets(self) -> Scope:
        return self._scrambled.lent(self._outputs, may_wait=self._may_wait)

    @property
    def _functions(self) -> dict[str, Callable[..., Any]]:
        return {**self._shared, "jet": self.jet, "output": self.output, "secret": secret}

    @property
    def _shared(self) -> dict[str, Callable[..., Any]]:
        """The functions that templates can call too."""
        return {
            "readFile": self.read_file,
            "file": self.read_file,
            "template": self.template,
            "registrations": self.registrations,
            "kvGet": self.kv_get,
            "shared": self.shared,
        }

    def for_templates(self) -> TemplateData:
        """Return the context and functions of templates."""
        from reactor.manifest.jet_templates import TemplateData  # noqa: PLC0415 - few manifests have templates

        return TemplateData.of(self.scope, {"lookup": self.lookup, **self._shared})

    @contextmanager
    def reading(self, outputs: Outputs | None = None, *, briefly: bool = False) -> Iterator[set[str]]:
        """Yield the set of the files that the functions read in the block.

        Pass ``outputs`` when a resource is being checked: ``output()`` returns them. Without, a missing file or output
        raises NotYetError, because it may exist when the resource is checked. With ``briefly``, slow functions raise
        BriefLimitError.
        """
        before, self.reads, self._outputs, self._may_wait = self.reads, set(), outputs, outputs is None
        self.scope.is_brief = briefly
        try:
            yield self.reads
        finally:
            self.reads, self._outputs, self._may_wait = before, None, False
            self.scope.is_brief = False

    def inside(self, names: Mapping[str, Any], secrets: frozenset[tuple[str, ...]]) -> ExpressionFunctions:
        """Return the same functions with these ``names`` as further roots, of which the paths ``secrets`` are secret.

        The two share their reads and warnings.
        """
        scope = self.scope
        found = ExpressionFunctions(
            self.base,
            {**scope.names, **names},
            scope.secrets | secrets,
            strict=scope.strict,
            moment=self.moment,
            network=self.network,
        )
        found.reads, found.scope.warnings = self.reads, scope.warnings
        return found

    def apart(self) -> ExpressionFunctions:
        """Return the same functions for another thread: two threads must not share the state of an evaluation."""
        return self._copy(self.moment)

    def at_present(self) -> ExpressionFunctions:
        """Return the same functions with their clock at the present time."""
        return self._copy(datetime.now(UTC))

    def _copy(self, moment: datetime) -> ExpressionFunctions:
        scope = self.scope
        found = ExpressionFunctions(
            self.base, scope.names, scope.secrets, strict=scope.strict, moment=moment, network=self.network
        )
        found.scope.warnings = self.scope.warnings.for_thread()
        return found

    def read_file(self, path: str) -> str:
        """Return the text of a file. A relative path is relative to the manifest's directory. Raises FunctionError."""
        full = os.path.normpath(os.path.join(self.base, _text(path, "file")))
        self.reads.add(full)
        try:
            found = os.stat(full)
            if not stat.S_ISREG(found.st_mode):
                raise FunctionError(f'failed to read file "{path}": not a regular file')
            if self.scope.is_brief and found.st_size > _BRIEFLY_READ:
                raise BriefLimitError
            with open(full, "rb", opener=open_input) as stream:
                content = stream.read(MAX_FILE + 1)
        except DistrustedError as error:
            raise FunctionError(f'file "{path}" can\'t be trusted: {error}', error.hint) from error
        except (OSError, ValueError) as error:
            if self._may_wait and isinstance(error, FileNotFoundError):
                raise NotYetError from error
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise FunctionError(f'failed to read file "{path}": {reason}') from error
        if len(content) > MAX_FILE:
            raise FunctionError(f'failed to read file "{path}": it is larger than {MAX_FILE // 2**20} MiB')
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise FunctionError(f'failed to read file "{path}": it is not UTF-8 text') from error

    def registrations(self, *arguments: Any) -> Any:
        """Return the services that are registered: cluster, protocol, service, address."""
        return self._from_network("registrations", arguments)

    def kv_get(self, *arguments: Any) -> Any:
        """Return the value of a key: bucket, key."""
        return self._from_network("kvGet", arguments)

    def shared(self, *arguments: Any) -> Any:
        """Return what the hosts of the fleet share under a name: name, where, minimum."""
        return self._from_network("shared", arguments)

    def _from_network(self, function: str, arguments: tuple[Any, ...]) -> Any:
        from reactor.manifest.network_functions import value_from_network  # noqa: PLC0415 - few manifests need it

        briefly = self.scope.is_brief
        return value_from_network(self.network, function, arguments, self.reads.add, briefly=briefly)

    def template(self, text: str) -> Any:
        """Evaluate a string with expressions, or the file that it names: ``x.templ``, or ``x.jet`` for Jet."""
        if _text(text, "template").endswith(".jet"):
            return self.jet(text)
        is_file = text.endswith(".templ")
        if not is_file and os.path.isfile(os.path.join(self.base, text)):
            hint = "give the file a name that ends in .templ, or in .jet for Jet; or read it with file()"
            raise FunctionError(f'template("{text}") renders this string, not the file with that name', hint)
        body = self.read_file(text) if is_file else text
        earlier = len(self.scope.warnings.pending)
        with self._deeper():
            try:
                if (parsed := parse_template(body)) is None:
                    return body if is_file else self._no_file_name("template", body)
                return parsed.value(self.scope)
            except ExpressionError as error:
                what = LineMap.of(text, body).place(error.start) if is_file else "the template"
                raise FunctionError(f"{what}: {error.message}", error.hint) from error
            finally:
                self.scope.warnings.prefix(earlier, text if is_file else "the template")

    def _no_file_name(self, function: str, text: str) -> str:
        """Return ``text`` as a template.

        If it looks like a file name, raise FunctionError; if not strict, only warn.
        """
        if not re.fullmatch(_FILE_NAME, text):
            return text
        message = f'{function}: "{text}" names a file that is not there'
        hint = "name a file that ends in .templ, or in .jet for Jet, beside the manifest"
        if self.scope.strict:
            raise FunctionError(message, hint)
        warning = ExpressionError(f"{message}, so the string itself is the result, as in CCM", 0, 0)
        self.scope.warnings.pending.append(warning)
        return text

    def jet(self, *arguments: str) -> str:
        """Render a Jet template, or the file ``x.jet`` that contains it. Two more arguments are its delimiters."""
        if len(arguments) not in (1, 3):
            raise FunctionError("jet requires 1 or 3 arguments", "jet('x.jet') or jet('x.jet', '[[', ']]')")
        body, *delimiters = arguments
        if not isinstance(body, str):
            raise FunctionError("jet requires a string argument for template body")
        if not all(isinstance(each, str) for each in delimiters):
            raise FunctionError("jet requires string arguments for delimiters", "jet('x.jet', '[[', ']]')")
        if not body.endswith(".jet"):
            self._no_file_name("jet", body)
        if self.scope.is_brief:
            raise BriefLimitError
        with self._deeper():
            from reactor.manifest.jet_templates import render  # noqa: PLC0415 - as above

            return render(body, delimiters, self.for_templates(), self.read_file, self._note)

    def _note(self, what: str) -> None:
        """Warn about a missing value in a template that is not strict."""
        self.scope.warnings.pending.append(ExpressionError(f"{what}, so nothing is written, as in CCM", 0, 0))

    def lookup(self, path: str, default: Any = None) -> Any:
        """Return the value at a gjson path of the roots, or ``default``. Templates get the `lookup` of expressions."""
        scope = Scope(
            {**self.scope.names, "Path": path, "Default": default},
            secrets=self.scope.secrets,
            strict=self.scope.strict,
        )
        scope.moment = self.moment
        return bare_expression("lookup(Path, Default)").evaluate(scope)

    def output(self, ref: str) -> Mapping[str, Any] | None:
        """Return the output of the resource ``ref``; nil if it has no output yet."""
        _text(ref, "output")
        if self._may_wait:
            raise NotYetError
        if self._outputs is None:
            hint = (
                "use it where values are read then: the content of a file, the command of an exec, a template"
            )
            raise FunctionError(f"the output of {ref} is only known when resources are checked", hint)
        return self._outputs(ref)

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        if self._depth >= MAX_TEMPLATES:
            raise FunctionError(f"templates use each other more than {MAX_TEMPLATES} deep")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1


class OtherSecrets(ExpressionFunctions):
    """The same functions with other secrets: the parts of a result that differ were made from secrets."""

    def __init__(
        self,
        base: str,
        names: Mapping[str, Any],
        secrets: frozenset[tuple[str, ...]],
        moment: datetime,
        network: Network | None,
    ) -> None:
        super().__init__(base, names, secrets, strict=False, moment=moment, network=network)
        functions = {**self._functions, "secret": lambda value: SecretText(scrambled(to_string(value)))}
        self.scope = Scope(names, functions, secrets=secrets)
        self.scope.moment = moment

    def lent(self, outputs: Outputs | None, *, may_wait: bool) -> Scope:
        """Return the scope, with ``outputs`` as the outputs of other resources."""
        self._outputs, self._may_wait = outputs, may_wait
        return self.scope
