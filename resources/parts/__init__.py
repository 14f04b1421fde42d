"""The kinds ``line``, ``block`` and ``setting``: parts of a file that other resources and people share.

`line`, `block` and `setting` are the kinds, and `part` is what they share: the parts of one file are read, changed,
validated and written together. `shared_file` reads and writes, `document` has the lines, `places` finds them,
and `compose` changes several parts and finds those that contradict each other. `setting_formats` knows the format of a path.
`keyed` (with `keyed_edit`), `json_text`, `toml_text` and `yaml_text` change one key of a text, and leave all the rest of it
as it is. `values` finds the value of a key in what was read, and `yaml_values` writes values as YAML.
"""

from reactor.resources.parts.block import Block
from reactor.resources.parts.line import Line
from reactor.resources.parts.setting import Setting

__all__ = ["Block", "Line", "Setting"]
