"""Makes the pages that follow from other files: command line, benchmarks, notebook, results and the README's tables.

python -m pages                              # everything in docs/ and README.md that is derived
python -m pages keep FOLDER [--campaign C]   # finished runs into docs/records/C (default: their data's name)
python -m pages ship RUN [--data ROOT]       # a finished run into the package, with votes and a few images
"""

from __future__ import annotations

import sys

from pages import derived, results

if __name__ == "__main__":
    if len(sys.argv) == 1:
        derived.write()
    results.main()
