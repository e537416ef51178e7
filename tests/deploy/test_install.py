"""An installation works in the root of its clone, and leaves no file in site-packages when it is removed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest
from helpers.documents import README, blocks_of

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "flows", "rating_kernels", "storage")  # all are installed inside of the first one's package
RATE = (
    "import pandas as pd\n"
    "from ranklake.flows.frames.history import rate_history\n"
    "results = pd.DataFrame({'contest': ['a', 'a'], 'player': ['x', 'y'], 'rank': [1, 2]})\n"
    "print(list(rate_history(results, 'glicko', engine='serial').mu))\n"
    "import ranklake.rating_kernels; print(ranklake.rating_kernels.__file__)\n"
)


def sources() -> Iterator[tuple[Path, str]]:
    """The modules of the clone, and their paths in an installation."""
    for name in FOLDERS:
        for file in sorted((ROOT / name).rglob("*.py")):
            path = file.relative_to(ROOT).as_posix()
            yield file, path.removeprefix("src/") if name == "src" else f"ranklake/{path}"


def wheel(folder: Path) -> Path:
    """The packages as a wheel, built without a build tool or a network."""
    path = folder / "ranklake-0-py3-none-any.whl"
    files = dict(sources())
    info = {
        "METADATA": "Metadata-Version: 2.1\nName: ranklake\nVersion: 0\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    names = [*files.values(), *(f"ranklake-0.dist-info/{name}" for name in info)]
    with zipfile.ZipFile(path, "w") as archive:
        for file, name in files.items():
            archive.write(file, name)
        for name, text in info.items():
            archive.writestr(f"ranklake-0.dist-info/{name}", text)
        record = "".join(f"{name},,\n" for name in [*names, "ranklake-0.dist-info/RECORD"])
        archive.writestr("ranklake-0.dist-info/RECORD", record)
    return path


def test_folders__with_modules_are_packages_that_setuptools_finds() -> None:
    assert [file for file, _ in sources() if file.suffix == ".py" and not (file.parent / "__init__.py").exists()] == []


class Environment:
    """A new virtual environment that has the packages of this one, apart from ranklake."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder / "venv", with_pip=True, symlinks=os.name != "nt")
        scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        base = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
        borrowed = {Path(module.__file__).parents[1] for module in (pytest, platformdirs)}
        borrowed |= {Path(path) for path in sys.path if path.endswith("site-packages")}
        self.packages = Path(sysconfig.get_path("purelib", "nt" if os.name == "nt" else "posix_prefix", vars=base))
        (self.packages / "borrowed.pth").write_text("".join(f"{path}\n" for path in sorted(borrowed)))
        self._python = scripts / ("python.exe" if os.name == "nt" else "python")
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "PYTHONPATH")}
        self._env = kept | {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": ""}

    def run(self, *arguments: str, cwd: Path | None = None) -> str:
        """The output of its Python, which must succeed."""
        done = subprocess.run(
            [self._python, *arguments], cwd=cwd or self.folder, env=self._env, capture_output=True, text=True,
            check=False, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def install(self) -> None:
        """Install the packages from a wheel, without a network."""
        self.run("-m", "pip", "install", "--no-index", "--no-deps", str(wheel(self.folder)))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the packages, which the last test uninstalls."""
    made = Environment(tmp_path_factory.mktemp("environment"))
    made.install()
    return made


@pytest.mark.slow
def test_install__works_in_the_root_of_the_clone(environment: Environment, tmp_path: Path) -> None:
    """The examples, ``python -m`` and a script in the root import the installation, and nothing of the clone."""
    clone = tmp_path / "clone"
    shutil.copytree(ROOT, clone, ignore=shutil.ignore_patterns(".*", "build", "*.egg-info", "tests"))
    where = "import ranklake.flows; print(ranklake.flows.__file__)\n"
    for page in (README, ROOT / "docs" / "notebook.md"):
        program = "\n".join([*blocks_of(page.read_text(encoding="utf-8"), "python"), where])
        (clone / "script.py").write_text(program, encoding="utf-8")
        for arguments in (("-c", program), ("script.py",)):
            shown = environment.run(*arguments, cwd=clone).splitlines()
            assert Path(shown[-1]).is_relative_to(environment.packages)
            assert "spring" in "".join(shown)
    assert "elo-mmr" in environment.run("-m", "ranklake", "systems", cwd=clone)
    assert "Rate a whole history" in environment.run("-c", "import ranklake; help(ranklake)", cwd=clone)
    environment.run("-m", "ranklake", "ingest", "synthetic", "--preset", "paper", "--lake", "lake", cwd=clone)


@pytest.mark.slow
def test_uninstall__leaves_no_file_and_another_installation_works(environment: Environment, tmp_path: Path) -> None:
    packages, run = environment.packages, environment.run
    first = run("-c", RATE).splitlines()
    assert Path(first[1]).is_relative_to(packages)
    assert list((packages / "ranklake" / "rating_kernels").rglob("*.pyc"))
    run("-m", "pip", "uninstall", "--yes", "ranklake")
    assert not (packages / "ranklake").exists()
    clone = tmp_path / "clone"
    for file, name in sources():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, clone / name)
    (packages / "clone.pth").write_text(f"import sys; sys.path.insert(0, {str(clone)!r})\n")  # as an editable one
    again = run("-c", RATE).splitlines()
    assert again[0] == first[0]
    assert Path(again[1]).is_relative_to(clone)
    assert not list((environment.folder / "cache").rglob("*.tmp"))
