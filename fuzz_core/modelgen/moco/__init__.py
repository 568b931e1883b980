"""MoCo: model programs are taken apart, mutated block by block and put together again (MoCo 2024, section III)."""
