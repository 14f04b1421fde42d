"""One resource without a manifest, for ``reactor ensure`` and ``reactor show``.

- ``properties``: the properties of a kind: names, types, defaults, meaning;
- ``description``: the description of a kind as text;
- ``command_line``: turns the options of a command line into a manifest with one entry;
- ``entry``: loads such a manifest; references to other resources go to the session instead;
- ``sessions``: the results of the calls in one script, in the format of the journal;
- ``protocol``: requests and answers in the JSON of CCM, over a pipe.
"""
