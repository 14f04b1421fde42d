"""Checks the merged data against their annotations: ``@require``, ``@validate EXPR``, ``@secret``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from reactor.data.annotations import TAINT, Annotation, Path
from reactor.data.problem import DataProblem
from reactor.language.errors import ExpressionError
from reactor.language.expression import parse_expression
from reactor.language.expression.scope import Scope
from reactor.language.secrets import SecretText
from reactor.language.values import to_string
from reactor.suggestions import did_you_mean

REQUIRE = ("require", "required")
VALIDATE = "validate"

Annotations = Mapping[Path, Sequence[Annotation]]


def secret_paths(annotations: Annotations) -> frozenset[Path]:
    """Return the paths annotated ``@secret``."""
    return frozenset(path for path, found in annotations.items() if any(each.name == TAINT for each in found))


def check(
    values: Mapping[str, Any], annotations: Annotations, secrets: Collection[Path]
) -> Iterator[DataProblem]:
    """Yield a problem for each value that fails a check. Messages show no value at or below the paths ``secrets``."""
    for path, found in annotations.items():
        value = value_at(values, path)
        is_secret = any(path[: len(secret)] == secret for secret in secrets)
        for annotation in found:
            message = _broken(annotation, value, is_secret=is_secret)
            if message:
                key = ".".join(path)
                yield DataProblem(
                    "R0116", ("data", *path), f'key "{key}" {message}', comment_at=annotation.at
                )


def unknown(annotations: Annotations) -> Iterator[DataProblem]:
    """Yield a problem for each unknown annotation."""
    for path, found in annotations.items():
        for annotation in found:
            if not _is_known(annotation):
                message = f"unknown annotation @{annotation.name} {annotation.argument}".rstrip()
                yield DataProblem(
                    "R0116", ("data", *path), message, _advice(annotation), comment_at=annotation.at
                )


def ignored(annotations: Sequence[Annotation]) -> Iterator[DataProblem]:
    """Yield a problem for each annotation that has no effect where it is."""
    hint = (
        "@require and @validate hold at keys of 'data' outside of lists; @secret also within lists, "
        "in overrides and in a --data-file"
    )
    for annotation in annotations:
        message = f"the annotation @{annotation.name} is ignored here"
        yield DataProblem("R0116", (), message, hint, comment_at=annotation.at)


def _is_known(annotation: Annotation) -> bool:
    if annotation.name == VALIDATE:
        return bool(annotation.argument)
    return annotation.name == TAINT or (annotation.name in REQUIRE and not annotation.argument)


def _advice(annotation: Annotation) -> str:
    if annotation.name == VALIDATE:
        return "write an expression after it: @validate isIP(value)"
    if annotation.name in REQUIRE:
        return f"write @{annotation.name} on a line of its own"
    meant = did_you_mean(annotation.name, (*REQUIRE, VALIDATE, TAINT))
    return meant or "the annotations are @require, @validate EXPRESSION and @secret"


def _broken(annotation: Annotation, value: Any, *, is_secret: bool) -> str | None:
    """Return the reason why ``value`` fails the check, or None."""
    if annotation.name in REQUIRE:
        # Only these values are missing: false and 0 are not.
        return "is required but has no value" if value is None or value == "" else None
    is_checked = annotation.name == VALIDATE and annotation.argument
    if not (is_checked and isinstance(value, (str, int, float))):  # nor what is not known yet
        return None
    try:
        passed = _passes(annotation.argument, SecretText(to_string(value)) if is_secret else to_string(value))
    except ExpressionError as error:
        return f'validation "{annotation.argument}" failed: {error.message}'
    return None if passed else f'failed validation "{annotation.argument}"'


def _passes(validation: str, value: str) -> bool:
    from reactor.language.expression.validators import VALIDATORS  # noqa: PLC0415 - few data are validated

    scope = Scope({"value": value, "Value": value}, VALIDATORS)
    answer = parse_expression(validation).evaluate(scope)
    if not isinstance(answer, bool):
        raise ExpressionError(f"it must give true or false, not {to_string(answer)}", 0, len(validation))
    return answer


def value_at(values: Any, path: Sequence[str | int]) -> Any:
    """Return the value at ``path``; None if there is none, or if the path leads into a list."""
    for key in path:
        if not isinstance(values, dict) or key not in values:
            return None
        values = values[key]
    return values
