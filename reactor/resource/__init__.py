"""What a resource is: base class, property types, plan, watch declarations, registry.

A kind:

- ``base``: the class that it extends; ``common_properties`` and ``property_types``: the types of properties;
  ``class_defaults``: where their defaults are; ``attribute_docs``: their docstrings; ``presentation``: how commands show it;
- ``plan``: what it wants to do; ``watch``: what could make it drift; ``relations``: what else it says about the host;
  ``health``: whether what it manages works;
- ``registry``: finds kinds and watchers, through ``entry_points``.

One resource:

- ``declared``: what the manifest and the graph know of it; ``diagnostic``: what is wrong with it, and where;
- ``composite``: one that contains others; ``role``: one that does so by a role; ``deferred_loop``: one that stands for
  others that are not known yet; ``network_value``: values that its expressions read from a network.

What a check uses, or the run around it:

- ``threads``: blocking work; ``thread_slices``: lets the event loop go before it; ``time_slice``: work on the loop itself;
- ``output``: what a check reports; ``own_renames``: which events are our own; ``protected_processes``: what must not be
  killed; ``child_handle``: when a process has ended; ``mount_health``: which mounts answer; ``real_paths``: which paths
  are one file; ``backup_store``: where former contents go;
- ``redaction``: keeps secrets out of what is shown, with ``secret_forms`` and ``secret_search``; ``escaping``: does so
  with control characters; ``git_credentials``: gives those of a server to git;
- ``hashes``: digests without OpenSSL; ``gc_control``: pauses the garbage collector.

Of the project, this package imports only some modules at the top of ``reactor``; everything else builds on it.
"""
