"""Scripts for graph laws: a scenario as a small LangGraph program that ends with an assertion.

`nodes` writes the graph, `acts` what is done with it, `asserts` the check; `assembly` puts them together.
"""
