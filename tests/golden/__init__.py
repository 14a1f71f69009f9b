"""Documents made by hand, and the output that each writer must make of them.

After a wanted change of the output: ``LINEAGE_UPDATE_GOLDEN=1 pytest tests/test_report_*.py``, then read the diff.
`reports/` holds files as old versions wrote them; they are only ever added to.
"""
