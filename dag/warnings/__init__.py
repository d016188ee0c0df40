"""What an object of any kind is told, beside what the rules of its kind find."""
