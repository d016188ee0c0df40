"""What is found although every rule is content."""
