"""What users are told: statuses of Kubernetes objects, and a table for people."""
