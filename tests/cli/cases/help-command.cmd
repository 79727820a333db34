imgstat help; imgstat help hist
