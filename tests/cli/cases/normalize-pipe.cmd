imgstat normalize good-example.png -o - | imgstat stats --json -
