"""Lookup paths: the path syntax of gjson (https://github.com/tidwall/gjson/blob/master/SYNTAX.md) over values.

``paths`` walks, ``queries`` decides which elements match, ``modifiers`` change what was found, ``syntax`` takes paths
apart. Keys are visited in sorted order, as they are in the JSON of a Go map.
"""
