"""One resource at a time, without a manifest.

- ``properties``: what a kind's properties are, for people: names, types, defaults, meaning;
- ``description``: what a kind tells of itself, in words;
- ``command_line``: from words of a command line to the tree of a manifest with one entry;
- ``entry``: such a tree bound as any manifest is, apart from what refers to other resources;
- ``sessions``: what several such calls of one script have done, in the format of the journal;
- ``protocol``: the same over a pipe, in the JSON of CCM;
- ``ccm_status``: what that tells of a thing of each type.
"""
