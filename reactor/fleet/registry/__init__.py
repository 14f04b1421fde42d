"""The registry of services, in the formats of CCM.

- ``entry``: one service at one address: subject, instance, body and headers;
- ``file_sd``: entries as targets of Prometheus;
- ``stream``: the stream that keeps the entries: make it, look up, remove, watch;
- ``publisher``: publishes the entries of a run while their resources are stable.
"""
