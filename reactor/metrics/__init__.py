"""Metrics of a continuous run, for Prometheus.

- ``tally``: a sink that counts events, without Prometheus;
- ``page``: these counts and the state of the engine in the formats of Prometheus;
- ``ccm``: the same counts under the names of CCM.

`docs/metrics.md` describes them.
"""
