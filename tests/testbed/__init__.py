"""What tests, the demonstration and the measurements run on: one of each kind of tool."""
