"""What has to be there for an instance's Envoys: made, kept and removed by the one that leads."""
