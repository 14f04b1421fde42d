"""What is wrong with the properties of a scaffold is said with the property."""

import pytest
from pydantic import ValidationError

from reactor.resources.scaffold import Scaffold


@pytest.mark.parametrize(
    ("properties", "path", "message"),
    [
        ({"left_delimiter": "<<"}, (), "delimiters come in pairs"),
        ({"right_delimiter": ">>"}, (), "delimiters come in pairs"),
        (
            {"left_delimiter": " ", "right_delimiter": ">>"},
            ("left_delimiter",),
            "left_delimiter cannot be empty or a space",
        ),
        (
            {"left_delimiter": "<<", "right_delimiter": ""},
            ("right_delimiter",),
            "right_delimiter cannot be empty or a space",
        ),
        (
            {"source": "/srv/out/templates"},
            ("source",),
            "source and target must not be inside of each other",
        ),
        ({"source": "/srv"}, ("source",), "source and target must not be inside of each other"),
        (
            {"source": "//srv"},
            ("source",),
            "source and target must not be inside of each other",
        ),
        ({"post": [{"": "x"}]}, ("post", 0), "post keys cannot be empty"),
        ({"post": [{"*": "x"}, {"g": " "}]}, ("post", 1, "g"), 'post value for key "g" cannot be empty'),
        ({"provider": "other"}, ("provider",), "scaffold has no provider 'other'"),
    ],
)
def test_properties_that_do_not_go_together(properties, path, message):
    with pytest.raises(ValidationError) as caught:
        Scaffold(name="/srv/out", **{"ensure": "present", "source": "/templates", **properties})
    (error,) = caught.value.errors()
    assert [(problem.path, problem.message) for problem in error["ctx"]["error"].problems] == [
        (path, message)
    ]


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"engine": "erb"}, "Input should be 'jinja', 'go' or 'jet'"),
        ({"source": ""}, "source cannot be empty"),
        ({"source": "relative"}, "the path must be absolute"),
        ({"source": "https://example.com/templates"}, "it must be a path on this host, not a URL"),
        ({"source": "obj://bucket/templates"}, "it must be a path on this host, not a URL"),
        ({"file_mode": "999"}, "not a valid octal number"),
        ({"name": "relative"}, "absolute"),
        ({"ensure": "latest"}, "Input should be 'present' or 'absent'"),
    ],
)
def test_properties_that_are_wrong_by_themselves(properties, message):
    with pytest.raises(ValueError, match=message):
        Scaffold(**{"name": "/srv/out", "ensure": "present", "source": "/templates", **properties})


def test_a_relative_source_starts_at_the_manifest():
    properties = {"name": "/srv/out", "ensure": "present", "source": "templates"}
    assert Scaffold.model_validate(properties, context={"base": "/etc/x"}).source == "/etc/x/templates"
