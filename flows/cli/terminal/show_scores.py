"""Tables of scores for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from ranklake.rating_kernels.metrics.metrics import HIGHER_IS_BETTER

from ...common.metric_names import METRIC_NAMES
from ...common.text import count
from ...entrants.scores import EACH_ROUND, METRICS
from ...evaluation.evaluate import Evaluation
from ...evaluation.evaluations import CONFIDENCE, Evaluations, WinRate, differences
from ...evaluation.games import summary
from ...evaluation.three_way import means_of
from ...evaluation.tuning.folds import mean_score
from ...evaluation.tuning.report import TuningReport
from .tables import NAME, NUMBER, TEXT, WHOLE, new_table

BREAKDOWNS = ("era", "size", "experience", "rank-error")
_HEADS = {metric: f"{name} {'↑' if metric in HIGHER_IS_BETTER else '↓'}" for metric, name in METRIC_NAMES.items()}
_HIDE = (
    "pair_inversion_equal_half",
    "spearman_rho",
    "kendall_tau_b",
    "log2_rank_error",
    "cross_entropy",
    "brier",
    "rank_likelihood",
    "rank_information",
    "calibration_error",
    "own_cross_entropy",
)
_PERCENT = frozenset({"pair_inversion", "pair_inversion_equal_half", "rank_deviation", "calibration_error"})
_ARROWS = "↑ higher is better, ↓ lower"


def show_evaluations(
    found: Evaluations, breakdowns: Sequence[str], filters: Sequence[str], pairs: bool
) -> Iterator[Table]:
    """All tables of evaluations: scores, games, breakdowns, and with ``pairs`` the win rates."""
    if len(found.runs) == 1:
        yield scores_table(found.runs[0], filters)
        yield from reliability_tables(found.runs[0], filters)
    else:
        yield from (comparison_table(found.runs, filter) for filter in filters)
    if any(evaluation.games is not None for evaluation in found.runs):
        yield games_table(found.runs)
    if any(evaluation.three_way is not None for evaluation in found.runs):
        yield three_way_table(found.runs)
    if len(found.runs) == 1:
        yield from outcome_tables(found.runs[0], filters)
    if any(evaluation.margin_and_surprise for evaluation in found.runs):
        yield margins_table(found.runs)
    for evaluation in found.runs:
        yield from breakdown_tables(evaluation, breakdowns, filters)
    for one, other, rates in found.win_rates() if pairs else ():
        yield from (win_table(one.run, other.run, rates, filter) for filter in filters)


def scores_table(evaluation: Evaluation, filters: Sequence[str]) -> Table:
    """One run: a row a filter."""
    rows = {name: evaluation.filters[name].summary() for name in filters}
    return _scores(f"{evaluation.run}: {_rounds(evaluation)}", "filter", rows, caption=_ARROWS)


def reliability_tables(evaluation: Evaluation, filters: Sequence[str]) -> Iterator[Table]:
    """One run: the chances of pairs against their results, a table a filter; those with equal pairs are shown once."""
    shown: list[Any] = []
    for name in filters:
        if not (rows := evaluation.filters[name].reliability()) or rows in shown:
            continue
        shown.append(rows)
        error = evaluation.filters[name].mean("calibration_error")
        title = f"{name}: pairs by the system's chance of the favourite; expected calibration error {error:.2f} %"
        columns = {"chance %": WHOLE, "pairs": NUMBER, "of all %": NUMBER, "mean chance %": NUMBER, "seen %": NUMBER}
        table = new_table(columns, title=title, caption="seen: favourites that finished first, a tie counting half")
        total = sum(row.weight for row in rows)
        for row in rows:
            if row.pairs:
                values = (100.0 * row.weight / total, 100.0 * row.chance, 100.0 * row.seen)
                span = f"{100 * row.least:.0f}-{100 * row.most:.0f}"
                table.add_row(span, f"{row.pairs:,}", *(f"{value:.2f}" for value in values))
        if total:
            yield table


def games_table(evaluations: Sequence[Evaluation]) -> Table:
    """Runs over games: one row a run and a filter, with the errors of predicted results."""
    columns = {"run": NAME, "filter": WHOLE, "games": NUMBER, "draws %": NUMBER}
    columns |= {"squared error ↓": NUMBER, "cross-entropy ↓": NUMBER}
    title = "results of games, draws included, predicted by the system's chance of a win; a draw is half a win"
    table = new_table(columns, title=title)
    for evaluation in evaluations:
        for name, row in {} if evaluation.games is None else summary(evaluation.games).items():
            values = [f"{100 * row['draws']:.1f}", f"{row['squared_error']:.4f}", f"{row['cross_entropy']:.4f}"]
            table.add_row(evaluation.run, name, f"{row['games']:,}", *(values if row["games"] else ["", "", ""]))
    return table


def three_way_table(evaluations: Sequence[Evaluation]) -> Table:
    """Runs over games, or over contests of two: one row a run and a filter, with the scores of the three chances."""
    columns = {"run": NAME, "filter": WHOLE, "games": NUMBER, "log loss, bits ↓": NUMBER, "Brier ↓": NUMBER}
    columns |= {"ranked probability ↓": NUMBER, "draws predicted %": NUMBER, "draws seen %": NUMBER}
    left_out = 0
    table = new_table(
        columns, title="chances of a win, a draw and a loss, as the run had learnt draws and advantages before"
    )
    for evaluation in evaluations:
        found = {} if evaluation.three_way is None else means_of(evaluation.three_way.scores.sums)
        for name, row in found.items():
            left_out = max(left_out, row["left_out"])
            values = [f"{row[score]:.4f}" for score in ("log_loss3", "brier3", "ranked_probability")]
            values += [f"{100 * row[share]:.1f}" for share in ("draws_predicted", "draws_seen")]
            table.add_row(evaluation.run, name, f"{row['games']:,}", *(values if row["games"] else [""] * len(values)))
    notes = [evaluation.three_way.note for evaluation in evaluations if evaluation.three_way is not None]
    if left_out:
        notes.append(f"{count(left_out, 'game')} with a score that is no win, draw or loss left out")
    table.caption = "\n".join(filter(None, notes)) or None
    return table


def outcome_tables(evaluation: Evaluation, filters: Sequence[str]) -> Iterator[Table]:
    """One run: the chances of each outcome against the results of games, a table a filter."""
    summary = {} if evaluation.three_way is None else evaluation.three_way.scores.summary()
    for name in (name for name in filters if name in summary and summary[name]["games"]):
        tables, columns = summary[name]["reliability"], dict[str, Any]({"chance %": WHOLE})
        for outcome in tables:
            heads = ("games by {}", "mean {} %", "{} seen %")
            columns |= {head.format(outcome): NUMBER for head in heads}
        table = new_table(columns, title=f"{name}: games by the chance of each result of the first player")
        if not summary[name]["second_won"]:
            table.caption = "the source names winners first: both players of a game count, each as the first one"
        for rows in zip(*tables.values(), strict=True):
            cells = []
            for row in rows:
                shares = (f"{100 * row[key]:.2f}" for key in ("chance", "seen"))
                cells += [f"{row['games']:,}", *shares] if row["games"] else [""] * 3
            if any(cells):
                table.add_row(f"{100 * rows[0]['least']:.0f}-{100 * rows[0]['most']:.0f}", *cells)
        yield table


def margins_table(evaluations: Sequence[Evaluation]) -> Table:
    """Runs over games with points: the slope of the surprises on the lead, with its standard error."""
    columns = {"run": NAME, "games with points": NUMBER, "slope": NUMBER, "standard error": NUMBER}
    title = "margin and surprise: slope of m (S - E) for 100 points of lead"
    caption = "near 0: a lead before the game says no more and no less than the next result shows"
    table = new_table(columns, title=title, caption=caption)
    for evaluation in evaluations:
        if found := evaluation.margin_and_surprise:
            values = (f"{found[name]:.4f}" for name in ("slope", "standard_error"))
            table.add_row(evaluation.run, f"{found['games']:,}", *values)
    return table


def comparison_table(evaluations: Sequence[Evaluation], filter: str) -> Table:
    """Several runs: one row a run; below each value, its difference to the best run with the confidence interval."""
    weights = {int(evaluation.filters[filter].weight.sum()) for evaluation in evaluations}
    alike = len(weights) == 1
    shared = f", {count(weights.pop(), 'participation')}" if alike else ""
    title = f"{filter}{shared}: {_rounds(evaluations[0])}"
    columns = {"run": NAME} | ({} if alike else {"participations": NUMBER})
    columns |= {_HEADS[metric]: NUMBER for metric in METRICS}
    hide = ("participations", *(_HEADS[metric] for metric in _HIDE))
    caption = (
        f"* best; below the others: difference to the best ± {CONFIDENCE:.0%} interval, paired by round; {_ARROWS}"
    )
    table = new_table(columns, hide, title=title, caption=caption.replace("%", " %"))
    by_cell = {(difference.run, difference.metric): difference for difference in differences(evaluations, [filter])}
    for evaluation in evaluations:
        weight = [] if alike else [f"{int(evaluation.filters[filter].weight.sum()):,}"]
        cells = []
        for metric in METRICS:
            value = _number(metric, evaluation.filters[filter].mean(metric))
            difference = by_cell.get((evaluation.run, metric))
            if difference is None or not value:
                cells.append(Text(value))
            elif difference.best == evaluation.run:
                cells.append(Text(f"*{value}", "bold"))
            else:
                half = _number(metric, 0.5 * (difference.high - difference.low))
                change = f"{difference.difference:+.{_decimals(metric)}f}{f' ±{half}' if half else ''}"
                cells.append(Text(f"{value}\n").append(change, "dim"))
        table.add_row(evaluation.run, *weight, *cells)
    return table


def breakdown_tables(evaluation: Evaluation, breakdowns: Sequence[str], filters: Sequence[str]) -> Iterator[Table]:
    """The requested breakdowns, each under every filter."""
    for breakdown in (name for name in BREAKDOWNS if name in breakdowns):
        if breakdown == "rank-error":
            yield _rank_errors(evaluation)
            continue
        head = {"era": "year", "size": "players", "experience": "rounds before"}[breakdown]
        for name in filters:
            rows = (
                evaluation.filters[name].experience() if breakdown == "experience"
                else evaluation.by_era(name) if breakdown == "era"
                else evaluation.by_size(name)
            )  # fmt: skip
            yield _scores(f"{evaluation.run}, {name}, by {head}", head, rows)


def win_table(run: str, second: str, rates: Sequence[WinRate], filter: str) -> Table:
    """How often one run is better than another, under one filter."""
    heads = {metric: METRIC_NAMES[metric].removesuffix(" %") for metric in EACH_ROUND}
    columns = {"rounds": WHOLE, "number": NUMBER} | dict.fromkeys(heads.values(), NUMBER)
    hide = [heads[metric] for metric in _HIDE if metric in EACH_ROUND]
    title = f"{filter}: % of rounds that {run} predicted better than {second}; equal rounds count half"
    table = new_table(columns, hide, title=title)
    by_class: dict[str, dict[str, WinRate]] = {}
    for rate in rates:
        if rate.filter == filter:
            by_class.setdefault(rate.rounds, {})[rate.metric] = rate
    for name, by_metric in by_class.items():
        values = [f"{by_metric[metric].percent:.1f}" if metric in by_metric else "" for metric in EACH_ROUND]
        table.add_row(name, f"{max(rate.n_rounds for rate in by_metric.values()):,}", *values)
    return table


def tuning_tables(report: TuningReport) -> Iterator[Table]:
    """The best trials of a search, with their scores in training and test; with several folds, those as well."""
    metric, several = report.config.metric, len(report.folds) > 1
    contests = count(report.n_contests, "contest")
    share = f"tuned on the first {report.n_train:,} of {contests}, tested on the others"
    title = f"best {_HEADS[metric]}, {f'tuned on all {contests}' if several else share}"
    columns = {"": NUMBER, "hyperparameters": TEXT}
    shown = dict.fromkeys(("pair_inversion", "rank_deviation", metric))
    parts = ("tuned",) if several else ("tuned", "tested")
    for part in parts:
        for name in shown:
            columns[f"{METRIC_NAMES[name].removesuffix(' %')}, {part}"] = NUMBER
    table = new_table(columns, title=title)
    for place, trial in enumerate(report.best, 1):
        scores = [(part, name) for part in (trial.train, trial.test)[: len(parts)] for name in shown]
        values = [_score(name, part.get(name)) for part, name in scores]
        table.add_row(str(place), _settings(trial.settings), *values)
    yield table
    if several:
        yield _folds_table(report, metric)


def _folds_table(report: TuningReport, metric: str) -> Table:
    """One row a fold: what was chosen before its block, and the scores before and on it."""
    columns = {"fold": WHOLE, "contests": WHOLE, "hyperparameters": TEXT, "before": NUMBER, "scored": NUMBER}
    title = f"{_HEADS[metric]} of folds: chosen on all contests before the block, scored on the block"
    mean = _score(metric, mean_score(report.folds))
    table = new_table(columns, title=title, caption=f"mean of the folds {mean}")
    for number, fold in enumerate(report.folds, 1):
        span = f"{fold.first + 1:,}-{fold.stop:,}"
        values = (_score(metric, None if value != value else value) for value in (fold.before, fold.score))
        table.add_row(str(number), span, _settings(fold.settings), *values)
    return table


def _settings(settings: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in settings.items())


def _score(metric: str, score: float | None) -> str:
    """A score with the digits of a search, or why there is none; nothing for NaN."""
    if score is None:
        return "diverged"
    return "" if score != score else f"{score:.{3 if metric in _PERCENT else 5}f}"


def _scores(title: str, head: str, rows: Mapping[str, Mapping[str, Any]], caption: str | None = None) -> Table:
    columns = {head: WHOLE, "weight": NUMBER} | {_HEADS[metric]: NUMBER for metric in METRICS}
    table = new_table(columns, [_HEADS[metric] for metric in _HIDE], title=title, caption=caption)
    for name, row in rows.items():
        table.add_row(name, f"{row['weight']:,}", *(_number(metric, row.get(metric)) for metric in METRICS))
    return table


def _rank_errors(evaluation: Evaluation) -> Table:
    columns = {"rounds, current included": WHOLE}
    columns |= dict.fromkeys(("participations", "mean change", "mean P", "mean E"), NUMBER)
    table = new_table(columns, title=f"{evaluation.run}, log2 rank errors of all players, newcomers included")
    for row in evaluation.rank_errors():
        if row.participations:
            table.add_row(
                row.name, f"{row.participations:,}", f"{row.gain:.2f}", f"{row.performance:.4f}", f"{row.error:.4f}"
            )
    return table


def _rounds(evaluation: Evaluation) -> str:
    last = evaluation.first_round + len(evaluation) - 1
    return f"rounds {evaluation.first_round:,} to {last:,}, predicted by the ratings before them"


def _decimals(metric: str) -> int:
    return 2 if metric in _PERCENT else 4


def _number(metric: str, value: float | None) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.{_decimals(metric)}f}"
