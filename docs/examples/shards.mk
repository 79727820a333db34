# SPDX-License-Identifier: MIT
# Outputs of a folder in shards, by make:
#     make -j 2 -k -f shards.mk IN=scans OUT=out STATE=state N=16
# Run again, it does what is missing.
N ?= 16
shards := $(shell seq -f 'shard-%g' $(N))

.PHONY: all $(shards)
all: $(shards)
$(shards): shard-%:
	imgstat normalize --recursive --jobs 1 --state $(STATE) --shard $*/$(N) $(IN) -o $(OUT)
