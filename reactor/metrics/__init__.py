"""Metrics of a continuous run, for Prometheus.

- ``tally``: a sink that counts events, without Prometheus;
- ``ccm``: a sink that counts events under CCM's names;
- ``page``: these counts and the state of the engine in the formats of Prometheus.

`docs/metrics.md` describes them.
"""
