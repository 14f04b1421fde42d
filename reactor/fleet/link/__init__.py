"""A client of NATS on trio: the connection, JetStream, key-value buckets, object stores, and contexts of the ``nats`` CLI.

Start at ``connection.connected``, then ``jetstream.JetStream``.

- how to connect: ``options``, from a ``context`` of the ``nats`` CLI; ``servers``: where; ``identity``: as whom;
  ``changed_options``: while a connection goes on;
- ``connection``: permanent, made of sessions; ``session``: the tasks of one open connection, which ``handshake`` opens,
  over ``tcp`` and ``tls``; ``pauses``: between two; ``status``: whether it is up;
- what a connection keeps over its sessions: ``subscriptions``, ``requests``, ``queues``;
- ``jetstream``: what is stored; ``api``: the requests for that; ``reading`` and ``direct_get``: read streams;
  ``stored``: a message in one;
- ``key_value``: buckets; ``objects``: object stores, with ``object_info`` and ``uploading``; ``watch``: follows both;
- ``snapshots``: copies whole streams out of a server and into one;
- ``errors``: what can fail.
"""
