"""The Python driver of the AXI block: what is written to its registers for each job."""
