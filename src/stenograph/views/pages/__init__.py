"""One frozen value per question: what a command, an endpoint or a page of the viewer shows.

In: library values (`Session`, `Listing`, …). Out: pages. A page does not know who shows it: no widths, colors or options. One
module per question, with the page types and the function that builds them. A type that derives from `Document` is a whole answer
and gets a JSON Schema and a section in docs/json.md; `Page` is a piece of one.
"""
