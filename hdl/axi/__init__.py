"""The core behind AXI ports: AXI4-Stream for the tensors, AXI4-Lite for the registers."""
