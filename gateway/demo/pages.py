"""Shows a story: the prompt, the budget, why, why not, the replay, the breakpoints."""

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from gateway.cli.run.play import summary
from gateway.cli.show.budget import breakpoints_view, budget_view
from gateway.cli.show.explanations import replay_view, why_not_view, why_view
from gateway.cli.show.prompt import PromptView
from gateway.demo.checks import Check
from gateway.demo.story import Story


def show(out: Console, story: Story) -> None:
    """All pages, each under its heading."""
    for title, views in _pages(story):
        out.print()
        out.rule(Text(title, "bold"), align="left", style="dim")
        for view in views:
            out.print(view)


def _pages(story: Story) -> Iterator[tuple[str, list[RenderableType]]]:
    prompt, trace = story.prompt, story.trace
    yield "What was played", list(summary(story.conversation, story.played))
    yield f"The prompt of the last turn, {trace.turn_id}", [PromptView(prompt)]
    yield "The budget", [budget_view(prompt.budget_report, trace.candidates)]
    if story.why is not None:
        yield f"Why is {story.why.candidate.item_id} there?", [why_view(story.why)]
    if story.why_not:
        yield "Why is something else not there?", [why_not_view(answer) for answer in story.why_not]
    yield "The same again, from the trace", [replay_view(story.replay)]
    yield "Where a provider may cache", [breakpoints_view(prompt.breakpoints, prompt.prefix_sha256)]


def show_checks(out: Console, results: list[Check], seconds: float) -> None:
    """Each promise and whether it was kept."""
    out.print()
    out.rule(Text("Checked", "bold"), align="left", style="dim")
    kept, broken = ("✔", "✘") if out.encoding.startswith("utf") else ("kept:", "BROKEN:")
    for result in results:
        mark = (kept, "green") if result.kept else (broken, "bold red")
        out.print(Text.assemble(mark, " ", result.promise))
    failed = sum(not result.kept for result in results)
    verdict = f"{failed} of {len(results)} promises broken" if failed else f"all {len(results)} promises kept"
    out.print(Text(f"{verdict}, in {seconds:.1f} s", "bold red" if failed else "bold green"))
