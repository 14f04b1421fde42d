"""The networkx DAG of resources: named build steps, selection, export. Knows nothing of how resources run.

- ``graph_builder``: the graph while it is built; ``names``: how it finds a resource by what people call it;
- ``steps/``: what is done to a draft, each step by its name; ``build``: all of them in their order;
- ``graph``: what comes of it; ``claimed``: an index of what its resources claim; ``select``: a part of it, named by ``globs``;
- ``reversal``: what undoes resources that left the manifest joins it;
- ``topology``: the graph as the scheduler wants it;
- ``digraph``: what build and export need of a bare directed graph; ``paths``: what steps need of a path;
- ``export/``: pictures and JSON.
"""
