import subprocess
import sys


def test_import__storage_imports_neither_kernels_nor_flows_nor_clusters():
    code = (
        "import sys, ranklake.storage; "
        "print(*sorted({'numba', 'rating_kernels', 'flows', 'dask', 'distributed', 'prefect', 'pandas'}"
        " & {name.removeprefix('ranklake.').partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
