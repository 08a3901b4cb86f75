"""AskUserQuestion and ExitPlanMode: calls that a person answers. Only offered where there is one.

The answer comes as a changed input, as in the client: whoever is asked for permission adds `answers`, or allows the plan.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct, field

from stenograph.agent.tools.base import Json, Tool, ToolContext, ToolFailed, ToolInput, ToolOutput


class QuestionOption(Struct, kw_only=True):
    label: Annotated[str, Meta(description="One to five words", min_length=1)]
    description: Annotated[str, Meta(description="What choosing this means")] = ""


class UserQuestion(Struct, kw_only=True):
    question: Annotated[str, Meta(description="The complete question, with a question mark", min_length=1)]
    header: Annotated[str, Meta(description="A label of at most 12 characters")]
    options: Annotated[list[QuestionOption], Meta(description="Two to four answers; the user can always type another")]
    multiSelect: Annotated[bool, Meta(description="Allow several answers")] = False  # noqa: N815 - the client's name


class AskUserQuestionInput(ToolInput):
    questions: Annotated[list[UserQuestion], Meta(description="One to four questions", min_length=1, max_length=4)]
    #: By question; whoever is asked adds them.
    answers: dict[str, str] = field(default_factory=dict)


class AskUserQuestion(Tool[AskUserQuestionInput]):
    name = "AskUserQuestion"
    input_type = AskUserQuestionInput
    not_offered = frozenset({"answers"})
    asks_user = True
    _words = "Your questions have been answered: {answers}. You can now continue with these answers in mind."
    _has_annotations = True

    def request(self, given: AskUserQuestionInput) -> str:  # noqa: ARG002 - as all tools
        return "Answer questions?"

    async def run(self, given: AskUserQuestionInput, context: ToolContext) -> ToolOutput:  # noqa: ARG002 - as all tools
        if not given.answers:
            raise ToolFailed("Nobody answered the questions. Decide yourself, and say what you assumed.")
        said = ", ".join(f'"{question}"="{answer}"' for question, answer in given.answers.items())
        questions: list[Json] = [
            {
                "question": one.question,
                "header": one.header,
                "options": [{"label": option.label, "description": option.description} for option in one.options],
                "multiSelect": one.multiSelect,
            }
            for one in given.questions
        ]
        structured: Json = {"questions": questions, "answers": given.answers}
        if self._has_annotations:
            structured["annotations"] = {}
        return ToolOutput(content=self._words.format(answers=said), structured=structured)


class OldAskUserQuestion(AskUserQuestion):
    """In the shapes of 2.0."""

    _words = "User has answered your questions: {answers}. You can now continue with the user's answers in mind."
    _has_annotations = False


class ExitPlanModeInput(ToolInput):
    plan: Annotated[str, Meta(description="The plan, as Markdown, for the user to approve", min_length=1)]


class ExitPlanMode(Tool[ExitPlanModeInput]):
    name = "ExitPlanMode"
    input_type = ExitPlanModeInput
    asks_user = True

    def request(self, given: ExitPlanModeInput) -> str:  # noqa: ARG002 - as all tools
        return "Exit plan mode?"

    async def run(self, given: ExitPlanModeInput, context: ToolContext) -> ToolOutput:
        if context.leave_plan_mode is not None:
            context.leave_plan_mode()
        words = (
            "User has approved your plan. You can now start coding. Start with updating your todo list if applicable\n\n"
            f"## Approved Plan:\n{given.plan}"
        )
        structured: Json = {"plan": given.plan, "isAgent": False}
        return ToolOutput(content=words, structured=structured)


def user_tools(*, is_old: bool) -> list[Tool[Any]]:
    return [OldAskUserQuestion() if is_old else AskUserQuestion(), ExitPlanMode()]
