"""What users are told: statuses as Kubernetes knows them, and as a table for people."""
