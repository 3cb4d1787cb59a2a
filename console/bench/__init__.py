"""Measures the console as its users meet it; `manage.py bench` finds it through the settings.

Not part of a running installation.
"""
