imgstat hist --json --bins 4 --range 0,256 good-example.png
