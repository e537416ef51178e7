"""Compiled kernels: child processes compile what a run needs before it rates."""
