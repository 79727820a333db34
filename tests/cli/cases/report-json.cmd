imgstat report --json --fail-on 'constant' good-constant.tif bad-truncated.png
