#!/usr/bin/env python
"""Signalbox from the command line: `uv run manage.py help` lists what there is."""

import sys

from console.entry import main

if __name__ == "__main__":
    main(sys.argv)
