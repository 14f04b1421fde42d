"""Options and arguments that several commands share, and the larger ones of single commands.

Variables of the environment that give defaults are named here, where reading their names imports nothing else.
"""

DATA_VARIABLE = "CCM_HIERA_DATA"
"""The variable with the default of ``--hiera``, as in CCM."""
CONTEXT_VARIABLE = "NATS_CONTEXT"
"""The variable with the default of ``--context``."""
DEFAULT_CONTEXT = "CCM"
