"""The networkx DAG of resources: named build steps, selection, export. Knows nothing of how resources run."""
