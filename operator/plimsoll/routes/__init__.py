"""Keep the weights of HTTPRoutes in step with what a service's replicas carry."""
