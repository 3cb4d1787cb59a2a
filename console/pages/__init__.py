"""The pages: one module each, which maps a request to rows and a template.

Reads come from `console.queries` and `runtime.api`, writes go through `console.actions`; what is
shared by several pages (words, lamps, the track diagram, the timeline) is pure and stands beside
them.
"""
