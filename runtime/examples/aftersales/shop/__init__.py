"""A little shop behind HTTP, a process of its own with books of its own.

It knows nothing of the runtime and imports no Django: it is the outside world, against whose books
every crash test counts effects.
"""
