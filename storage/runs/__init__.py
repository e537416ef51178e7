"""Runs: segments of rated rounds, their manifests, snapshots of beliefs."""
