"""The jobs of the workflow: plan, fuzz, export, report. Each is one command of `nightfuzz action`."""
