imgstat help help | head -n 3
