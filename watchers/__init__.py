"""The watchers that come with reactor: one module per event source, and modules that they share.

- paths: ``inotify``, with ``inotify_descriptor``, ``inotify_masks``, ``directory``, ``path_lookup``, ``path_tree``,
  ``pending_writes``, ``watch_budget`` and ``mounts``;
- what the kernel announces on a netlink socket: ``nftables`` and ``uevents`` on the base ``kernel_announcements``, and
  ``netlink`` with ``netlink_topics``; ``netlink_socket`` is for all;
- systemd: ``systemd``, with ``units``, ``unit_files`` and ``dbus/``;
- containers: ``containers``, with ``container_api``;
- times: ``timers``, ``alarms`` and ``wall_clock``;
- ``readiness``: files of the kernel whose changes poll(2) announces, such as the host name.

A new watcher gets an entry point in ``pyproject.toml``.
"""
