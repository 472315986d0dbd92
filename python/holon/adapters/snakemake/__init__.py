"""Snakemake: a profile for version 7, and the executor plugin of version 8 (tried against a stub of its interface alone).

`python3 -m holon.adapters.snakemake DIR` writes the profile into a folder; `snakemake --profile DIR` uses it.
"""
