LC_ALL=C imgstat hist --height 2 good-example.png
