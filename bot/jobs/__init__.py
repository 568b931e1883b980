"""The jobs of the workflow: plan, fuzz, export, report. Every job is one command of `nightfuzz action`."""
