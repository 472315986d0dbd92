"""Snakemake 8 finds its executor plugins by the names of packages; this one's code is in holon.adapters.snakemake."""
from holon.adapters.snakemake.plugin import Executor, common_settings

__all__ = ["Executor", "common_settings"]
