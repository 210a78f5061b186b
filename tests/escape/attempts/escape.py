"""Runs attempts: `python3 -IS escape.py GROUND NAME…`, or lists them all: `--list`."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import frame  # noqa: E402
import kernel  # noqa: E402,F401
import network  # noqa: E402,F401
import planting  # noqa: E402,F401
import processes  # noqa: E402,F401
import proxy  # noqa: E402,F401
import reading  # noqa: E402,F401
import writing  # noqa: E402,F401

frame.main()
