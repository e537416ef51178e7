"""Finds the packages of the folders at the top, which are installed inside of ranklake. All else: pyproject.toml."""

from setuptools import find_packages, setup

found = find_packages(
    include=[f"{folder}{below}" for folder in ("flows", "rating_kernels", "storage") for below in ("", ".*")]
)
setup(packages=["ranklake", *(f"ranklake.{name}" for name in found)])
