"""The smallest value that a JSON Schema takes: how a tool is called of which nothing is known but its schema.

In: a JSON Schema as a client sends it. Out: a value with the required members only. Knows no tool.
"""

from __future__ import annotations

from stenograph.testing.scripted_api import Json


def smallest_value(schema: Json) -> object:
    """A value the schema takes, as small as its required members allow."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return smallest_value(schema[key][0])
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = kind[0]
    match kind:
        case "object":
            properties = schema.get("properties", {})
            return {name: smallest_value(properties.get(name, {})) for name in schema.get("required", [])}
        case "array":
            return [smallest_value(schema.get("items", {})) for _ in range(schema.get("minItems", 1))]
        case "integer" | "number":
            return schema.get("minimum", 1) if schema.get("minimum", 0) > 0 else 1
        case "boolean":
            return False
        case "null":
            return None
    return "x" * max(1, schema.get("minLength", 1)) if schema.get("format") != "uri" else "http://127.0.0.1/"
