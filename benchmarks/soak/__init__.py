"""Long runs that try to break the package: tampered files, kills, full disks, a shared cache. See `__main__`."""
