"""PCS: a wireless network in which every agent is a base station."""
