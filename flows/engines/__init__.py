"""Where work runs: this process, threads, or Dask workers that hold state. No storage, no rating."""
