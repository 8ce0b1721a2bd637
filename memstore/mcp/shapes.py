"""The protocol's own objects, made from ours. They are the same for every call and made once, where they can be."""

from __future__ import annotations

from collections.abc import Sequence

import mcp_types as types

from memstore.errors import InputRefused
from memstore.mcp.answers import Answer
from memstore.mcp.catalogue import HOW, PROMPTS, TOOLS
from memstore.mcp.resources import TEMPLATE, Listed

_MARKDOWN = "text/markdown"
_ALWAYS = {"anthropic/alwaysLoad": True}
"""Otherwise the client shows tools by their names alone, and an agent that does not look for them has no memory."""


def tools() -> types.ListToolsResult:
    """All tools."""
    return types.ListToolsResult(
        tools=[
            types.Tool(
                name=tool.name,
                title=tool.title,
                description=tool.description,
                input_schema={
                    "type": "object",
                    "properties": tool.properties,
                    "required": list(tool.required),
                    "additionalProperties": False,
                },
                annotations=types.ToolAnnotations(
                    title=tool.title,
                    read_only_hint=tool.reads,
                    destructive_hint=tool.destroys,
                    idempotent_hint=tool.reads or tool.repeats,
                    open_world_hint=False,
                ),
                _meta=_ALWAYS,
            )
            for tool in TOOLS
        ]
    )


def result(answer: Answer) -> types.CallToolResult:
    """What a tool answered."""
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=block) for block in answer.blocks], is_error=answer.failed
    )


def resources(found: Sequence[Listed], following: str | None) -> types.ListResourcesResult:
    """A page of resources."""
    return types.ListResourcesResult(
        resources=[
            types.Resource(
                uri=one.uri,
                name=one.name,
                description=one.description or None,
                mime_type=_MARKDOWN,
                size=one.size,
                annotations=None if one.changed is None else types.Annotations(last_modified=one.changed),
            )
            for one in found
        ],
        next_cursor=following,
    )


def templates() -> types.ListResourceTemplatesResult:
    """How the URI of a document is made."""
    return types.ListResourceTemplatesResult(
        resource_templates=[
            types.ResourceTemplate(
                uri_template=TEMPLATE, name="document", description="A memory document", mime_type=_MARKDOWN
            )
        ]
    )


def content(uri: str, text: str) -> types.ReadResourceResult:
    """The text of a resource."""
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text, mime_type=_MARKDOWN)])


def prompts() -> types.ListPromptsResult:
    """All prompts."""
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=prompt.name,
                title=prompt.title,
                description=prompt.description,
                arguments=[types.PromptArgument(name=prompt.argument, description=prompt.what, required=False)],
            )
            for prompt in PROMPTS
        ]
    )


def prompt(name: str, arguments: dict[str, str] | None) -> types.GetPromptResult:
    """A prompt with its argument. Raises InputRefused where there is none of that name."""
    for known in PROMPTS:
        if known.name == name:
            value = (arguments or {}).get(known.argument, "").strip()
            text = (known.text.format(value) if value else known.without) + HOW[name]
            message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
            return types.GetPromptResult(description=known.description, messages=[message])
    raise InputRefused(f"there is no prompt {name[:80]!r}", hint=f"there are {', '.join(p.name for p in PROMPTS)}")
