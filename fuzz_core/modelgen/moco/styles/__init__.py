"""The forms of model programs, and the places of their layers (MoCo 2024, section III-B)."""
