"""The kind ``pip``: a virtual environment of Python, and the packages in it.

`kind` holds the properties and the plan, `environment` reads what is installed without starting Python, `requirements`
compares it with what is wanted, and `installer` makes the environment and runs pip.
"""

from reactor.resources.pip.kind import Pip

__all__ = ["Pip"]
