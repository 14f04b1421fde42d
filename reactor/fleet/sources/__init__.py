"""Manifests and data that are kept in NATS: ``obj://BUCKET/KEY`` in an object store, ``kv://BUCKET/KEY`` in a key-value bucket.

- ``place``: the parts of such a URL;
- ``link``: reads and follows them; `reactor.source` finds it by an entry point; ``connections``: what it reads with;
- ``values``: the values of `kvGet` and `registrations` in expressions; ``mirror``: the files that keep it;
- ``publisher``: publishes the registrations of a run.
"""
