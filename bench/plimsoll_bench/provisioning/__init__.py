"""A recorded day whose nodes are all bought: by the operator, by Karpenter, and at the least."""
