"""What a resource is: base class, property types, plan, watch declarations, registry.

Nothing here imports another part of the project, and everything else builds on it.
"""
