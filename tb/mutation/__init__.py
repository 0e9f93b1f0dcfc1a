"""Mutation: faults that a tool puts into the gateware, and what finds each of them."""
