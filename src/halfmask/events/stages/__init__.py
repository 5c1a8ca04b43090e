"""What stands between rules and output: windows, aggregates, guarantees."""
