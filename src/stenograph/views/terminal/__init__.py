"""Pages -> lines for a terminal, or plain text where there is none.

One module per page, each with a function from a page and `RenderOptions` to lines. Prints nothing and knows no commands.
"""
