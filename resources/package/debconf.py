"""Answers to the questions that packages of Debian ask while they are configured; debconf-set-selections(1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from reactor import ResourceError, matching_text, register_secret
from reactor.resources.package.error_lines import error_lines
from reactor.resources.process import ENVIRONMENT, Command, run

_QUESTION = re.compile(r"[A-Za-z0-9][^\s/]*(/\S+)+")


def _check_line(text: str) -> str:
    if "\n" in text or "\0" in text:
        raise ValueError("an answer is one line of text")
    return text


_Value = Annotated[str, AfterValidator(_check_line)] | bool | int


class TypedAnswer(BaseModel):
    """An answer, with the type of its question."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    type: Literal["string", "boolean", "select", "multiselect", "password", "text", "note", "error"] = (
        "string"
    )
    value: _Value = Field(repr=False)


Answers = Mapping[
    Annotated[str, matching_text(_QUESTION, "is not a question of debconf: write it as in postfix/mailname")],
    _Value | TypedAnswer,
]
"""Answers by question, such as ``postfix/mailname``; without a type, an answer is a boolean or a string."""


def selections(package: str, answers: Answers) -> str:
    """The lines for debconf-set-selections(1). Answers of the type ``password`` become secrets."""
    name = package.partition(":")[0]
    return "".join(f"{name} {question} {_words(answer)}\n" for question, answer in sorted(answers.items()))


def _words(answer: str | bool | int | TypedAnswer) -> str:
    if not isinstance(answer, TypedAnswer):
        kind = "boolean" if isinstance(answer, bool) else "string"
        return _words(TypedAnswer(type=kind, value=answer))
    value = str(answer.value).lower() if isinstance(answer.value, bool) else str(answer.value)
    if answer.type == "password":
        register_secret(value)
    return f"{answer.type} {value}"


async def preseed(lines: Iterable[str], environment: Mapping[str, str]) -> None:
    """Store answers in debconf before it asks; no other process can see them. Raises ResourceError."""
    text = "".join(lines)
    if not text:
        return
    command = Command(("debconf-set-selections",), "/", {**ENVIRONMENT, **environment}, input=text.encode())
    completed = await run(command)
    if completed.exit_code != 0:
        raise ResourceError(f"debconf refuses the answers{error_lines(completed)}")
