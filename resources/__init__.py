"""The kinds that come with reactor: one package per kind, one module per provider.

A package may have two kinds that do the same to different things. The modules beside the packages, and the few packages
that no entry point in ``pyproject.toml`` names, are what several kinds share.
"""
