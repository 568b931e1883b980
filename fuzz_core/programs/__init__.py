"""Shipped model programs: those that are traced, and those that MoCo takes apart. Programs are data, never imported."""
