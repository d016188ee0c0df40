"""What a running instance answers to commands, as JSON has it: all that a client needs."""
