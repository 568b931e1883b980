"""Knowledge about the apis that models are made of: extraction, similarity, YAML (MoCo 2024, section III-C).

The package is pure: text and recorded calls go in, `facts.Knowledge` comes out. `campaign.moco.study` brings both
together with a target.
"""
