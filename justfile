# Every command of development, and the only place of it: `just` lists them, CONTRIBUTING.md describes them.
# They need an environment with `pip install --group test --group docs -e '.[all]'`, which brings just itself.

export PATH := justfile_directory() / ".venv/bin:" + env("PATH")

# the recipes
default:
    @just --list

# the quick tests, three minutes on two cores
test *arguments:
    python -m pytest -n 2 {{ arguments }}

# the longer tests
slow *arguments:
    python -m pytest -n 2 -m slow --durations 60 {{ arguments }}

# style, spelling, and the types of the installed package
lint:
    ruff check .
    ruff format --check .
    codespell
    rm -rf build/typed build/lib
    python -m pip install --quiet --no-deps --target build/typed .
    mypy

# mend what ruff can mend
fix:
    ruff check --fix .
    ruff format .

# the documentation site in build/docs; warnings are errors
docs:
    python -m sphinx --fail-on-warning --keep-going --quiet -c docs . build/docs

# write the generated tables of docs/architecture.md and SECURITY.md again
tables:
    python docs/imports.py
    python docs/bounds.py

# benchmark rows beside the peer's, which `pip install --group bench` installs
bench *arguments:
    python tests/benchmarks/run.py {{ arguments }}

# whether benchmark rows of AFTER are slower than of BEFORE
compare before after *rows:
    python tests/benchmarks/compare.py {{ before }} {{ after }} {{ rows }}

# lines, modules, imports, arguments and walks of commits
structure *commits:
    python tests/benchmarks/structure.py {{ commits }}

# random attacks
chaos *arguments="--minutes 10":
    python tests/chaos/run.py {{ arguments }}

# publish and serve with the lowest versions that pyproject.toml allows; needs uv
floors:
    uv venv .lowest --python 3.11
    uv pip install --python .lowest --resolution lowest-direct --group test -e '.[all]'
    .lowest/bin/python -m pytest tests/flows/publication tests/flows/serving

# everything, in a fresh clone
all:
    .ci/run
