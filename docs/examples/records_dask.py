# SPDX-License-Identifier: MIT
"""One record of all images, measured by Dask: records_dask.py RECORD IMAGE..."""
import sys

from dask.distributed import Client, LocalCluster

import imgstat


def measure(images: list[str]) -> imgstat.Record:
    return imgstat.Record.merge(map(imgstat.Record.of, images))


if __name__ == "__main__":
    saved, *images = sys.argv[1:]
    with LocalCluster(dashboard_address=None) as cluster, Client(cluster) as client:
        tasks = [images[i : i + 100] for i in range(0, len(images), 100)]
        records = client.map(measure, tasks)
        record = client.submit(imgstat.Record.merge, records).result()
    record.save(saved, replace=True)
    print(record.stats(percentiles=[1, 99]))
