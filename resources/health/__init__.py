"""The runners of health checks: `nagios` for ``command``, `goss` for ``goss_rules``."""
