"""Measurements, one file a part: `make bench` runs all, `make bench ONLY=noise` one."""
