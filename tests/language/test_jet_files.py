"""Jet templates of a manifest find each other among the files beside it, and keep secrets."""

import pytest

from reactor.language.errors import FunctionError
from reactor.manifest.evaluation import NotYetError
from reactor.manifest.expression_functions import ExpressionFunctions


@pytest.fixture
def beside(tmp_path):
    """The surroundings of a manifest, with these files beside it."""

    def beside(secrets=(), **files):
        for name, text in files.items():
            (tmp_path / f"{name}.jet").write_text(text)
        names = {"Facts": {}, "Data": {"password": "hunter2hunter"}, "Environ": {}}
        return ExpressionFunctions(str(tmp_path), names, frozenset(secrets), strict=True)

    return beside


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ('[[ include "other.jet" ]]', "other"),
        ('[[ include "other" ]]', "other"),
        ('[[ includeIfExists("other.jet") ]]', "other"),
        ('[[ includeIfExists("nope.jet") ]]', ""),
        ('[[ if includeIfExists("nope") ]]yes[[ else ]]no[[ end ]]', "no"),
    ],
)
def test_templates_include_others(beside, template, text):
    assert beside(main=template, other="other").jet("main.jet") == text


def test_an_include_of_nothing_is_an_error_with_its_place(beside):
    with pytest.raises(FunctionError, match=r"main\.jet:2:1.*template nope could not be found"):
        beside(main='\n[[ include "nope" ]]').jet("main.jet")


def test_while_the_manifest_is_loaded_a_file_may_be_still_to_come_but_what_is_optional_is_not_awaited(beside):
    expression_functions = beside(main='[[ include "nope" ]]', optional='[[ includeIfExists("nope") ]]')
    with expression_functions.reading() as reads:
        with pytest.raises(NotYetError):
            expression_functions.jet("main.jet")
        expression_functions.jet("optional.jet")
    assert f"{expression_functions.base}/nope" in reads


def test_an_error_keeps_its_words_back_when_there_are_secrets(beside):
    template = "[[ map(Data.password) ]][[ Data.password.nope() ]]"
    with pytest.raises(FunctionError) as caught:
        beside(secrets=[("Data", "password")], main=template).jet("main.jet")
    assert caught.value.message.startswith("main.jet:1:")
    assert "not shown" in caught.value.message
    assert caught.value.__cause__ is None


def test_an_error_of_the_source_keeps_its_words_when_there_are_secrets(beside):
    for main, place in (("[[ if ]]", "main.jet:1:"), ('[[ include "other" ]]', "other.jet:1:")):
        with pytest.raises(FunctionError, match="unexpected token") as caught:
            beside(secrets=[("Data", "password")], main=main, other="[[ if ]]").jet("main.jet")
        assert caught.value.message.startswith(place)
