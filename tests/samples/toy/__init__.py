"""Kind toy: counters. A case is a list of amounts. It shows what a kind is made of; see `test_kinds`."""

from lineage_conformance.kind import Kind

KIND = Kind(name="toy", laws=("toy",), protocol="Counter", first="toy.adds-up")
