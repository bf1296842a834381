"""The service that ends servers which are idle or at the end of their time."""
