"""Llama-like models in flax nnx: sizes, weights, tokenizers."""
