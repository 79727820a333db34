imgstat hist --plot - good-example.png
