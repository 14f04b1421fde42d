"""The data of a manifest: merges the layers that `hierarchy` selects, and checks them against annotations in comments.

- ``problem``: an error in the data, and its place in the document;
- ``layers``: merges two trees (facts are merged too), and records the layer that each leaf came from;
- ``annotations``: finds comments such as ``# @require``; ``validation``: makes the checks that they demand;
- ``expansion``: evaluates expressions in data, in a restricted scope;
- ``resolve``: selects the overrides, and combines all of the above.
"""
