"""Oracles: they choose the modes to run and judge the outcomes. They execute no call themselves."""
