"""Gandalf: model graphs made by a grammar of operators, spelled alike for several libraries (Gandalf 2023)."""
