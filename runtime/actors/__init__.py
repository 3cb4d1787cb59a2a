"""Dramatiq doors: a message means "this queue has work", nothing more.

The broker may lose or double messages without harm; claims, retries and time limits are the
engine's and the database's business.
"""
