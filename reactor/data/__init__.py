"""The data of a manifest: layers that `hierarchy` selects, merged, and checked against comments.

- ``merge``: how two trees become one; facts use it too;
- ``layered``: trees whose leaves know the layer they came from;
- ``problem``: what can be wrong, and where;
- ``comments``: those of a YAML text; ``annotations``: ``# @require`` and its like among them;
- ``validation``: what they ask of the values;
- ``expansion``: expressions in data, evaluated in their restricted scope;
- ``hierarchy``: which overrides are looked up, and how they are merged;
- ``resolve``: all of it together.
"""
