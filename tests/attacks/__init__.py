"""What other ingress controllers were attacked with, one row each, and what holds here."""
