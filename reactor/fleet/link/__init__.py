"""A client of NATS on trio: the connection, JetStream, key-value buckets, object stores, and contexts of the ``nats`` CLI.

Start at ``connection.connected``, then ``jetstream.JetStream``.
"""
