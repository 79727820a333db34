imgstat hist --range 300,400 good-example.png
