"""The DAG of resources: how it is built, selected from, and exported. It does not depend on how resources run.

- ``build``: builds the graph from resources by the named steps in ``steps/``, which change a ``graph_builder``;
  ``names``: finds resources by ref, alias or glob; ``globs``: matches globs;
- ``graph``: the result, also as a networkx graph (`Graph.dag`); ``select``: selects a part of it;
- ``topology``: the graph as integers, for steps, pictures and the scheduler;
- ``export/``: pictures and JSON.
"""
