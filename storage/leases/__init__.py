"""One writer at a time: leases, fences, conditional commits, the reserve for a full disk."""
