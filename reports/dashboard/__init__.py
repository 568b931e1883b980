"""The dashboard: a static site of a state's public facts, which opens from disk and on GitHub Pages."""
