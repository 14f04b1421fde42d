"""Templates mean what they mean to CCM."""

import ccm_cases
import pytest
from ccm_wording import matters

from reactor.language.errors import ExpressionError
from reactor.language.expression import parse_template
from reactor.manifest.inputs import Inputs
from reactor.manifest.source import Source

TYPES = {
    "int": int,
    "float": float,
    "string": str,
    "list": list,
    "map": dict,
    "bool": bool,
    "null": type(None),
}


@pytest.fixture
def scope(tmp_path):
    def of(env):
        inputs = Inputs(env.get("facts", {}), env.get("environ", {}))
        for name, text in env.get("files", {}).items():
            (tmp_path / name).write_text(text)
        source = Source(str(tmp_path / "manifest.yaml"), "")
        return inputs.expression_context(source, env.get("data", {}), frozenset(), strict=False).scope

    return of


def value(case, scope):
    template = parse_template(case["template"])
    if template is None:
        return [case["template"], case["template"] != ""] if case["mode"] == "match" else case["template"]
    if case["mode"] == "match":
        return list(template.match(scope))
    return template.render(scope) if case["mode"] == "string" else template.value(scope)


@pytest.mark.parametrize("case", ccm_cases.templates())
def test_a_template_gives_what_it_gives_there(case, scope):
    if "error_contains" in case:
        with pytest.raises(ExpressionError) as caught:
            value(case, scope(case["env"]))
        assert matters(case["error_contains"], f"{caught.value.message} {caught.value.hint}")
        return
    found = value(case, scope(case["env"]))
    assert found == case["expect"]
    assert "type" not in case or type(found) is TYPES[case["type"]]
