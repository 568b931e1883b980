"""How model programs are written, and where their layers are (MoCo 2024, section III-B)."""
