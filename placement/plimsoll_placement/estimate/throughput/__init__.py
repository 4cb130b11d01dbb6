"""How fast is a training job where it has run, and how fast would it be elsewhere? Learned."""
