"""The kinds that come with reactor: one package per kind, one module per provider."""
