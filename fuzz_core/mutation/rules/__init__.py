"""The rules, one small class each, one file a family."""
