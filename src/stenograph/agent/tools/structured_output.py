"""StructuredOutput: the answer as JSON in a form that the user gave (`--json-schema`). Its first valid call ends the turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stenograph.agent.tools.base import Json, Tool, ToolContext, ToolFailed, ToolInput, ToolOutput
from stenograph.errors import UsageError

if TYPE_CHECKING:
    from jsonschema import ValidationError

#: The client's (2.1.325).
MOST_ATTEMPTS = 5
STRUCTURED_OUTPUT = "StructuredOutput"
_DONE = "Structured output provided successfully"


class StructuredAnswer(ToolInput):
    value: Json


class StructuredOutput(Tool[StructuredAnswer]):
    name = STRUCTURED_OUTPUT
    input_type = StructuredAnswer
    is_read_only = True

    def __init__(self, schema: Json) -> None:
        """Raises UsageError for what is not a schema."""
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import validator_for

        kind = validator_for(schema, default=Draft202012Validator)
        try:
            kind.check_schema(schema)
        except SchemaError as error:
            where = "/".join(map(str, error.absolute_path))
            raise UsageError(f"--json-schema is not a valid JSON Schema{f': check `{where}`' if where else ''}") from None
        self._schema = schema
        self._validator: Any = kind(schema)

    def definition(self) -> Json:
        return {"name": self.name, "description": self.description(), "input_schema": self._schema}

    def check(self, given: Json) -> StructuredAnswer:
        found = [_told(error) for error in self._validator.iter_errors(given)]
        if found:
            raise ToolFailed(f"Output does not match required schema: {', '.join(found)}")
        return StructuredAnswer(value=given)

    async def run(self, given: StructuredAnswer, context: ToolContext) -> ToolOutput:  # noqa: ARG002 - one shape for all tools
        return ToolOutput(content=_DONE, structured=_DONE)


def _told(error: ValidationError) -> str:
    """In the client's words (2.1.325) for what is usually wrong."""
    where = "".join(f"/{step}" for step in error.absolute_path) or "root"
    match error.validator, error.validator_value:
        case "type", str(kind):
            said = f"must be {kind}"
        case "type", list(kinds):
            said = f"must be {','.join(kinds)}"
        case "required", _:
            said = f"must have required property {error.message.removesuffix(' is a required property')}"
        case "additionalProperties", _:
            said = "must NOT have additional properties"
        case "enum", _:
            said = "must be equal to one of the allowed values"
        case "const", _:
            said = "must be equal to constant"
        case _:
            said = error.message
    return f"{where}: {said}"
