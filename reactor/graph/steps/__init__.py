"""The steps of a build, one module each. A step adds edges or problems to the `GraphBuilder`.

- ``references``: ``require``, ``subscribe``, ``after`` and outputs; ``automatic``: edges that are found;
  ``members``: a composite comes after what it contains; ``ordering``: the order of the manifest;
- ``claims``: reports contradictions; ``cycles``: reports cycles;
- ``managed_by_others``: tells a resource what others manage.
"""
