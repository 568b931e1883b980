"""Oracles: they choose the modes to run and judge the outcomes. Oracles execute no call themselves."""
