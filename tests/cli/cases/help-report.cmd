imgstat help report
