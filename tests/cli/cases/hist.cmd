imgstat hist good-example.png
