"""What is wrong with the properties of a resource, for the tests of every kind."""

import pytest
from pydantic import ValidationError

from reactor.resource.diagnostic import InvalidPropertiesError, PropertyProblem


def problems(kind, **properties):
    """All problems of a resource of this kind: there must be one."""
    with pytest.raises(ValidationError) as caught:
        kind(**properties)
    found = []
    for error in caught.value.errors():
        cause = error.get("ctx", {}).get("error")
        if isinstance(cause, InvalidPropertiesError):
            found += cause.problems
        else:
            found.append(PropertyProblem(error["loc"], error["msg"].removeprefix("Value error, ")))
    return found


def the_problem(kind, **properties):
    """The only one."""
    (problem,) = problems(kind, **properties)
    return problem
