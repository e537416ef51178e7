"""Settings of the documentation site: `python -m sphinx -W -c docs . build/docs` in the root of the repository."""

import importlib.metadata
import sys
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

sys.path[:0] = [str(Path(__file__).parent / "_extensions"), str(Path(__file__).parent)]

project = "ranklake"
copyright = "the ranklake authors"
release = importlib.metadata.version("ranklake")

# The source folder is the repository, so that a link works in the repository and on the site alike.
root_doc = "docs/index"
include_patterns = ["docs/**", "deploy/*.md", "CONTRIBUTING.md", "SECURITY.md"]
exclude_patterns = ["docs/_*", ".*", "build", "dist", "flows", "rating_kernels", "storage", "ranklake*", "tests"]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "click_help", "mathml", "hyperparameters",
              "accessible"]  # fmt: skip
source_suffix = {".md": "myst-nb"}
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4
nb_execution_mode = "force"  # only pages with a kernel in their header: docs/notebooks
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
html_math_renderer = "mathml"

autodoc_member_order = "groupwise"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_preserve_defaults = True
autodoc_class_signature = "separated"
napoleon_google_docstring = False
napoleon_use_rtype = False

# "weight" in a docstring may be the field of several classes: it is then no link.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = f"ranklake {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_root"]
html_copy_source = False
html_show_sourcelink = False


def setup(app: Sphinx) -> None:
    """Name the languages of code blocks that Pygments does not know, and leave out fields of named tuples."""
    for language in ("cron", "csv"):
        app.add_lexer(language, TextLexer)
    app.add_config_value("example_site", True, "", bool)
    app.connect("autodoc-skip-member", _skip_field)
    app.connect("build-finished", _publish_example)


def _publish_example(app: Sphinx, error: Exception | None) -> None:
    """Publish the example site beside the pages, at ``example/``."""
    if error is None and app.builder.name == "html" and app.config.example_site:
        from example import publish_site

        publish_site(Path(app.outdir) / "example")


def _skip_field(app: Sphinx, what: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    """The docstring of the class describes the fields; Python's own words are their numbers."""
    return True if type(member).__name__ == "_tuplegetter" else None
