# SPDX-License-Identifier: MIT
"""One record of all images, measured by Ray: records_ray.py RECORD IMAGE..."""
import sys

import ray

import imgstat


@ray.remote
def measure(images: list[str]) -> imgstat.Record:
    return imgstat.Record.merge(map(imgstat.Record.of, images))


if __name__ == "__main__":
    saved, *images = sys.argv[1:]
    ray.init(include_dashboard=False)
    record = None
    waiting = [measure.remote(images[i : i + 100]) for i in range(0, len(images), 100)]
    while waiting:  # whatever is done first
        done, waiting = ray.wait(waiting)
        one = ray.get(done[0])
        record = one if record is None else record + one
    record.save(saved, replace=True)
    print(record.stats(percentiles=[1, 99]))
