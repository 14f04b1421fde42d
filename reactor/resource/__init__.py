"""What a resource is: base class, property types, plan, watch declarations, registry.

This package imports no other part of the project; everything else builds on it.
"""
