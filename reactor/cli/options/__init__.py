"""Options and arguments that several commands share, and the larger ones of single commands.

- what a manifest is evaluated with: ``inputs``, ``network``, ``trust``; ``implicit_files``: files that no option names;
- of many commands: ``common``, ``state_dir``, ``times``, ``sizes``; ``files``: values that come from a file;
- of single ones: ``live_page`` and ``metrics`` of ``run``, ``fleet`` of those of a fleet;
- ``resource_names``: names of resources; ``kind_options``: options made from the properties of a kind;
- ``ccm``: the names that CCM has for some of these.

Variables of the environment that give defaults are named here, where reading their names imports nothing else.
"""

DATA_VARIABLE = "CCM_HIERA_DATA"
"""The variable with the default of ``--hiera``, as in CCM."""
CONTEXT_VARIABLE = "NATS_CONTEXT"
"""The variable with the default of ``--context``."""
DEFAULT_CONTEXT = "CCM"
