"""Tools that people have, on holon: joblib, Dask, Snakemake; PSI/J and Parsl tried against stubs alone (docs/python.md)."""
