"""Figures of this machine: what ``manage.py bench`` measures, and the agents it measures with.

Not part of a running system; the bench names this application to the workers it starts.
"""
