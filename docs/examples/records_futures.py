# SPDX-License-Identifier: MIT
"""One record of all images, measured in processes: records_futures.py RECORD IMAGE..."""
import sys
from concurrent.futures import ProcessPoolExecutor

import imgstat

if __name__ == "__main__":
    saved, *images = sys.argv[1:]
    with ProcessPoolExecutor() as processes:
        record = imgstat.Record.merge(processes.map(imgstat.Record.of, images, chunksize=8))
    record.save(saved, replace=True)
    print(record.stats(percentiles=[1, 99]))
