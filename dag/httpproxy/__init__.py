"""The rules of HTTPProxy and TLSCertificateDelegation (projectcontour.io/v1)."""
