"""Measurements, one file per part: `make bench` runs all, `make bench ONLY=noise` one."""
