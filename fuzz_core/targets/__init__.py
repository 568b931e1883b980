"""Targets: installed builds of a library under test, each in an environment of its own."""
