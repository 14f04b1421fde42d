"""What the expressions of one manifest may reach besides its data: files beside it, templates, outputs of others."""

from __future__ import annotations

import os.path
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any

from reactor.expression.errors import ExpressionError, FunctionError, NotBrieflyError
from reactor.expression.kinds import shown
from reactor.expression.scope import Scope
from reactor.expression.secret import SecretText
from reactor.expression.secret_taint import all_texts, blinded, blinded_names, differing
from reactor.expression.text import text as text_of
from reactor.manifest.ccm_services import kv_get, registrations
from reactor.manifest.evaluation import NotYetError, bare_expression, parse_template
from reactor.manifest.jet_templates import render
from reactor.manifest.source import LineMap
from reactor.manifest.template_data import TemplateData
from reactor.resource.declared import Outputs
from reactor.resource.redaction import register_secret, with_each_secret
from reactor.trust.inputs import open_input
from reactor.trust.rule import DistrustedError

MAX_FILE = 16 * 1024 * 1024
"""Bytes of a file that an expression reads."""
_FILE_NAME = re.compile(
    r"(?!\w+:)[\w.+-]*(?:/[\w.+-]+)+|"
    r"[\w.+-]+\.(?:j2|jinja2?|te?mpl|tpl|jte?|gotmpl|erb|epp|ejs|hbs|mustache|twig|conf|cfg|cnf|ini|txt|ya?ml|json|toml|xml)"
)
"""A text that is a path, or ends like a file that is made of a template: a template in it would be none."""
_BRIEFLY_READ = 256 * 1024
MAX_TEMPLATES = 10
"""How deep templates may use each other."""


def secret(value: Any) -> SecretText:
    """``value`` as a secret: neither it nor what is made of it is shown."""
    register_secret(value)
    return SecretText(value)


def _text(value: Any, function: str) -> str:
    """``value``, which an expression gave to ``function``, as the text that it has to be. Raises FunctionError."""
    if isinstance(value, str):
        return value
    raise FunctionError(f"{function} requires a string argument, not {shown(value)}")


class ExpressionFunctions:
    """The functions that expressions of a manifest in the directory ``base`` may call, and their ``scope``.

    ``reads`` collects the absolute paths they have read. `reading` lends them the outputs of other resources. Time stands
    still at ``moment``, which is when the manifest was loaded: a value must not move by itself from one check to the next.
    """

    def __init__(
        self,
        base: str,
        names: Mapping[str, Any],
        secrets: frozenset[tuple[str, ...]],
        *,
        strict: bool,
        moment: datetime | None = None,
    ) -> None:
        self.base = base
        self.moment = moment or datetime.now(UTC)
        self.reads: set[str] = set()
        self.scope = Scope(
            names,
            self._functions,
            secrets=secrets,
            hide=register_secret,
            blind=self._other_secrets,
            strict=strict,
        )
        self.scope.moment = self.moment
        self._outputs: Outputs | None = None
        self._may_wait = False
        self._depth = 0

    def rendered(self, file: str) -> str:
        """The text that the Jet template in ``file`` gives; what it makes of secrets is remembered."""
        text = self.jet(file)
        if isinstance(text, SecretText):
            parts: Iterable[str] = all_texts(text)
            with suppress(FunctionError, NotYetError):  # then all of it counts
                parts = differing(text, self._blind.jet(file))
            register_secret([*parts])
        return text

    @cached_property
    def _blind(self) -> _Blinded:
        secrets = self.scope.secrets
        names = blinded_names(self.scope.names, secrets, partial(with_each_secret, make=blinded))
        return _Blinded(self.base, names, secrets, self.moment)

    def _other_secrets(self) -> Scope:
        return self._blind.lent(self._outputs, may_wait=self._may_wait)

    @property
    def _functions(self) -> dict[str, Callable[..., Any]]:
        return {**self._shared, "jet": self.jet, "output": self.output, "secret": secret}

    @property
    def _shared(self) -> dict[str, Callable[..., Any]]:
        """The functions that templates have too."""
        return {
            "readFile": self.read_file,
            "file": self.read_file,
            "template": self.template,
            "registrations": registrations,
            "kvGet": kv_get,
        }

    def for_templates(self) -> TemplateData:
        """What templates are given."""
        return TemplateData.of(self.scope, {"lookup": self.lookup, **self._shared})

    @contextmanager
    def reading(self, outputs: Outputs | None = None, *, briefly: bool = False) -> Iterator[set[str]]:
        """Gives the set of files read while this lasts.

        With ``outputs``, a resource is being checked, and they can be had. Without, what is not there yet raises
        NotYetError: it may be there when the resource is checked. ``briefly``, what takes long raises NotBrieflyError.
        """
        before, self.reads, self._outputs, self._may_wait = self.reads, set(), outputs, outputs is None
        self.scope.is_brief = briefly
        try:
            yield self.reads
        finally:
            self.reads, self._outputs, self._may_wait = before, None, False
            self.scope.is_brief = False

    def apart(self) -> ExpressionFunctions:
        """The same for another thread: what goes on in one evaluation is not for two of them."""
        scope = self.scope
        found = ExpressionFunctions(
            self.base, scope.names, scope.secrets, strict=scope.strict, moment=self.moment
        )
        found.scope.slips = self.scope.slips.apart()
        return found

    def read_file(self, path: str) -> str:
        """The text of a file; a relative path starts at the directory of the manifest."""
        full = os.path.normpath(os.path.join(self.base, _text(path, "file")))
        self.reads.add(full)
        try:
            found = os.stat(full)
            if not stat.S_ISREG(found.st_mode):
                raise FunctionError(f'failed to read file "{path}": not a regular file')
            if self.scope.is_brief and found.st_size > _BRIEFLY_READ:
                raise NotBrieflyError
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

    def template(self, text: str) -> Any:
        """The value of a text with expressions, or of the file that it names: ``x.templ``, or ``x.jet`` for Jet."""
        if _text(text, "template").endswith(".jet"):
            return self.jet(text)
        is_file = text.endswith(".templ")
        if not is_file and os.path.isfile(os.path.join(self.base, text)):
            hint = "give the file a name that ends in .templ, or in .jet for Jet; or read it with file()"
            raise FunctionError(f'template takes "{text}" for a text, not for the name of that file', hint)
        body = self.read_file(text) if is_file else text
        slips = len(self.scope.slips.pending)
        with self._deeper():
            try:
                if (parsed := parse_template(body)) is None:
                    return body if is_file else self._no_file_name("template", body)
                return parsed.value(self.scope)
            except ExpressionError as error:
                what = LineMap.of(text, body).place(error.start) if is_file else "the template"
                raise FunctionError(f"{what}: {error.message}", error.hint) from error
            finally:
                self.scope.slips.wrap(slips, text if is_file else "the template")

    def _no_file_name(self, function: str, text: str) -> str:
        """``text``, which is taken for a template and not for the name of one, unless it is plainly such a name."""
        if not _FILE_NAME.fullmatch(text):
            return text
        message = f'{function}: "{text}" names a file that is not there'
        if self.scope.strict:
            raise FunctionError(
                message, "name a file that ends in .templ, or in .jet for Jet, beside the manifest"
            )
        self.scope.slips.pending.append(ExpressionError(f"{message}, so it is its own text, as in CCM", 0, 0))
        return text

    def jet(self, *arguments: str) -> str:
        """A Jet template, or the file ``x.jet`` with one, rendered; two further arguments are its delimiters."""
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
            raise NotBrieflyError
        with self._deeper():
            return render(body, delimiters, self.for_templates(), self.read_file, self._note)

    def _note(self, what: str) -> None:
        """Something is missing in a template, which is no error here."""
        self.scope.slips.pending.append(ExpressionError(f"{what}, so nothing is written, as in CCM", 0, 0))

    def lookup(self, path: str, default: Any = None) -> Any:
        """What stands at a gjson path of the roots: `lookup` of expressions, for templates."""
        scope = Scope(
            {**self.scope.names, "Path": path, "Default": default},
            secrets=self.scope.secrets,
            strict=self.scope.strict,
        )
        scope.moment = self.moment
        return bare_expression("lookup(Path, Default)").evaluate(scope)

    def output(self, ref: str) -> Mapping[str, Any] | None:
        """What the resource ``ref`` gives to others; nil while it has given nothing."""
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


class _Blinded(ExpressionFunctions):
    """The same with other secrets: what it gives tells what is made of them, and is used for nothing else."""

    def __init__(
        self, base: str, names: Mapping[str, Any], secrets: frozenset[tuple[str, ...]], moment: datetime
    ) -> None:
        super().__init__(base, names, secrets, strict=False, moment=moment)
        functions = {**self._functions, "secret": lambda value: SecretText(blinded(text_of(value)))}
        self.scope = Scope(names, functions, secrets=secrets)
        self.scope.moment = moment

    def lent(self, outputs: Outputs | None, *, may_wait: bool) -> Scope:
        """Its scope, with these outputs of others."""
        self._outputs, self._may_wait = outputs, may_wait
        return self.scope
