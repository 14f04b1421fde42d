"""Metrics of a continuous run, for Prometheus.

- ``tally``: a sink that counts events, in plain numbers;
- ``page``: these numbers, and what the engine knows at that moment, in the formats of Prometheus.

`docs/metrics.md` describes them.
"""
