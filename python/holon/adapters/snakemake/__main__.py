"""python3 -m holon.adapters.snakemake DIR: writes the profile for Snakemake 7 into the folder DIR."""
from __future__ import annotations

import os
import shutil
import sys

PROFILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "profile")


def write_profile(folder: str) -> None:
    """Writes the profile. Errors: OSError (FileExistsError: there is another one)."""
    os.makedirs(folder)
    for name in sorted(os.listdir(PROFILE)):
        shutil.copy(os.path.join(PROFILE, name), folder)
        if name.startswith("holon-"):
            os.chmod(os.path.join(folder, name), 0o755)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    try:
        write_profile(sys.argv[1])
    except OSError as error:
        sys.exit("holon.adapters.snakemake: %s: %s" % (sys.argv[1], error.strerror))
