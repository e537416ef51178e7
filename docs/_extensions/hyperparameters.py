"""The directive ``hyperparameters``: source and parameters of a rating system, as ``ranklake systems NAME`` prints."""

import json
from typing import ClassVar

from click.testing import CliRunner
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ranklake.flows.cli.main import cli


class Hyperparameters(SphinxDirective):
    """Insert the source and the table of hyperparameters of the system that the argument names."""

    required_arguments = 1
    columns: ClassVar[dict[str, int]] = {"parameter": 15, "default": 10, "range": 20, "meaning": 55}

    def run(self) -> list[nodes.Node]:
        """Return the paragraph and the table."""
        result = CliRunner().invoke(cli, ["systems", self.arguments[0], "--format", "json"])
        if result.exit_code != 0:
            raise self.error(result.output)
        system = json.loads(result.output)
        source = nodes.paragraph("", "", nodes.strong("", "Source: "), nodes.Text(f"{system['source']}."))
        return [source, self.table([self.cells(parameter) for parameter in system["parameters"]])]

    @staticmethod
    def cells(parameter: dict) -> list[nodes.Node]:
        """Return the four cells of one parameter."""
        default = "none" if parameter["default"] is None else format_value(parameter["default"])
        unit = f" {parameter['unit']}" if parameter["unit"] else ""
        values = parameter["range"] + unit + (" or none" if parameter["optional"] and "none" not in unit else "")
        meaning = nodes.paragraph("", parameter["description"])
        literals = [nodes.paragraph("", "", nodes.literal("", text)) for text in (parameter["name"], default)]
        return [*literals, nodes.paragraph("", values), meaning]

    def table(self, rows: list[list[nodes.Node]]) -> nodes.table:
        """Return a table with these cells below the head."""
        group = nodes.tgroup(cols=len(self.columns))
        group += [nodes.colspec(colwidth=width) for width in self.columns.values()]
        head = [nodes.paragraph("", title) for title in self.columns]
        group += nodes.thead("", self.row(head))
        group += nodes.tbody("", *(self.row(cells) for cells in rows))
        return nodes.table("", group, classes=["hyperparameters"])

    @staticmethod
    def row(cells: list[nodes.Node]) -> nodes.row:
        """Return a row with these cells."""
        return nodes.row("", *(nodes.entry("", cell) for cell in cells))


def format_value(value: object) -> str:
    """Return a default as ``--set`` takes it, with at most six digits."""
    return f"{value:g}" if isinstance(value, float) else json.dumps(value).strip('"')


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("hyperparameters", Hyperparameters)
    return {"parallel_read_safe": True}
