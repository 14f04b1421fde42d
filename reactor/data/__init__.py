"""The data of a manifest: layers that `hierarchy` selects, merged, and checked against annotations in comments.

- ``problem``: an error in the data, and its place in the document;
- ``layers``: how two trees are merged, which facts use too, and which layer each leaf came from;
- ``annotations``: comments such as ``# @require``; ``validation``: the checks that they ask for;
- ``expansion``: expressions in data, evaluated in a restricted scope;
- ``resolve``: the overrides that are looked up, and all of it together.
"""
