"""Brings a bundle to hosts over ssh, in waves, and collects the results.

- ``errors``: an inventory, a host pattern or the previous bundle can't be used;
- ``request``: the request of `reactor push` to `reactor receive` on a host: the first line that it sends;
- ``inventory_host``: one host of an inventory: its variables, and how ssh reaches it;
- ``inventory``: the hosts and groups of an inventory file, of a command (JSON), or of the command line;
- ``ini``, ``yaml_inventory``: the formats of files;
- ``inventory_builder``: an inventory while it is read: expands ``web[01:20]``, and puts the variables of groups and
  hosts together;
- ``patterns``: ``web:!web3``, as Ansible has them;
- ``waves``: ``--serial`` and ``--max-failed``;
- ``ssh``: the arguments of ssh; ``lines``: the lines that a host sends, with limits;
- ``session``: pushes to one host: sends the bundle, and reads the events;
- ``bootstrap``: reactor as one file, for a host that has only Python;
- ``standby``: on a host, the process that has imported a run and does the work of the next pushes; ``handover``: how a session
  hands its work to it;
- ``outcome``: the outcome of one host; ``pusher``: pushes to all hosts, wave by wave;
- ``report``: the output for people: lines, and the table at the end; ``live``: the table on a terminal.
"""
